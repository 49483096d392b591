"""The same attacks when the sandbox is used by somebody who isn't root."""

import ctypes
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

NOBODY = 65534
ROOT = Path(__file__).parents[2]
# Run by root: shows nobody a Python that lies in root's home, becomes nobody, and runs the tests.
BECOME = """
import ctypes, os, sys
prefix, shown, command = sys.argv[1], sys.argv[2], sys.argv[3:]
libc = ctypes.CDLL(None, use_errno=True)
NEW_MOUNTS, PRIVATE, RECURSIVE, BIND = 0x20000, 1 << 18, 1 << 14, 1 << 12
if libc.unshare(NEW_MOUNTS) or libc.mount(None, b"/", None, PRIVATE | RECURSIVE, None):
    sys.exit(77)
if libc.mount(prefix.encode(), shown.encode(), None, BIND | RECURSIVE, None):
    sys.exit(77)
os.setgroups([])
os.setgid(65534)
os.setuid(65534)
os.execv(command[0], command)
"""


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that nobody can get at; pytest's own are closed to others, by every session that begins."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.mark.slow
@pytest.mark.skipif(os.getuid() != 0, reason="all other tests run as an ordinary user already")
def test_the_attacks_fail_as_an_ordinary_user_too(open_folder):
    python, prefix = Path(sys.executable).resolve(), Path(sys.base_prefix).resolve()
    shown, work = open_folder / "python", open_folder / "work"
    shown.mkdir()
    work.mkdir()
    os.chown(work, NOBODY, NOBODY)
    command = [str(shown / python.relative_to(prefix)), "-m", "pytest", "-q", "-p", "no:cacheprovider", "-x"]
    command += ["--basetemp", str(work / "pytest"), "--rootdir", str(ROOT), "-c", str(ROOT / "pyproject.toml")]
    command += [str(ROOT / "tests" / "sandbox" / "test_attacks.py")]
    packages = [path for path in sys.path if path.endswith("site-packages")]
    environment = {"PYTHONPATH": os.pathsep.join([str(ROOT), *packages]), "PYTHONDONTWRITEBYTECODE": "1"}
    environment |= {"HOME": str(work), "PATH": "/usr/bin:/bin", "LD_LIBRARY_PATH": str(shown / "lib")}
    run = subprocess.run(
        [sys.executable, "-c", BECOME, str(prefix), str(shown), *command],
        env=environment,
        cwd=work,
        capture_output=True,
        text=True,
        timeout=300,
    )
    if run.returncode == 77:
        pytest.skip(f"nobody can't be shown this Python: {os.strerror(ctypes.get_errno())}")
    assert run.returncode == 0, run.stdout[-3000:] + run.stderr[-1000:]
    assert " passed" in run.stdout
