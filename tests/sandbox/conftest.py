"""A sandbox for each tier that works here; tests of a tier that doesn't are skipped, with the reason."""

from collections.abc import Iterator

import pytest
from served import serving

from arena.sandbox import Sandbox, Server
from arena.sandbox.probe import trouble
from arena.sandbox.tiers import TIERS


@pytest.fixture(scope="session", params=TIERS)
def tier(request: pytest.FixtureRequest) -> str:
    if why := trouble(request.param):
        assert "let code" not in why, f"a jail that doesn't hold: {why}"
        pytest.skip(why)
    return request.param


@pytest.fixture(scope="session")
def sandbox(tier: str) -> Iterator[Sandbox]:
    """One jail, shared by all tests: whatever one job does to it, the next must not notice."""
    with Sandbox(1, tier) as made:
        yield made


@pytest.fixture
def any_sandbox() -> Iterator[Sandbox]:
    """A sandbox of the safest tier, of one test's own."""
    with Sandbox(1) as made:
        yield made


@pytest.fixture(scope="session")
def server(tier: str) -> Iterator[Server]:
    """A server with jails of each tier that works here."""
    process, known = serving("--tier", tier, "--workers", "2")
    with process:
        yield known
        process.terminate()


@pytest.fixture(scope="session")
def far(server: Server) -> Iterator[Sandbox]:
    """A sandbox whose jails are those of the server."""
    with Sandbox(1, "remote", server) as made:
        yield made
