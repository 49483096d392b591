"""A sandbox for each tier that works here; tests of a tier that doesn't are skipped, with the reason."""

from collections.abc import Iterator

import pytest

from arena.sandbox import Sandbox
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
