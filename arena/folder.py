"""Folders that appear whole or not at all: written beside their name, checksummed, synced, then renamed."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

MANIFEST = "manifest.json"
FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


class DiskFull(OSError):
    """A folder could not be written for want of space; what stood there before is untouched."""


def sha256(path: Path) -> str:
    """The hexadecimal sha256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextlib.contextmanager
def fresh(target: Path, facts: Mapping[str, Any] | None = None) -> Iterator[Path]:
    """A new folder that becomes `target` when the block ends well, with a manifest of its files and `facts`.

    If the block raises, nothing of it stays. A `target` that exists by then is replaced. Raises `DiskFull`.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    sweep(target)
    part = Path(tempfile.mkdtemp(prefix=f".{target.name}.part-{os.getpid()}-", dir=target.parent))
    try:
        part.chmod(0o755)
        yield part
        seal(part, facts or {})
        if target.exists():
            swap(part, target)
        else:
            part.rename(target)
        sync(target.parent)
    except Exception as error:
        if is_full(error):
            free = shutil.disk_usage(target.parent).free / 2**20
            raise DiskFull(
                errno.ENOSPC, f"no space to write {target} ({free:.0f} MiB free): free some space, then run it again"
            ) from error
        raise
    finally:
        shutil.rmtree(part, ignore_errors=True)


def swap(part: Path, target: Path) -> None:
    """Put `part` in the place of `target`; if that fails, `target` is back."""
    old = part.with_name(part.name + "-old")
    target.rename(old)
    try:
        part.rename(target)
    except OSError:
        old.rename(target)
        raise
    shutil.rmtree(old)


def seal(folder: Path, facts: Mapping[str, Any]) -> None:
    """Write `manifest.json` (size and sha256 of every file, then `facts`) and push everything to the disk."""
    files = {}
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        path.chmod(0o644)
        sync(path)
        status = path.stat()
        record = {"size": status.st_size, "mtime_ns": status.st_mtime_ns, "sha256": sha256(path)}
        files[path.relative_to(folder).as_posix()] = record
    manifest = folder / MANIFEST
    manifest.write_text(json.dumps({**facts, "files": files}, indent=1, sort_keys=True) + "\n")
    sync(manifest)
    sync(folder)


def manifest(folder: Path) -> dict[str, Any]:
    """What `seal` wrote; raises ValueError if it is missing or not readable."""
    try:
        record = json.loads((folder / MANIFEST).read_text())
    except (OSError, ValueError) as error:
        raise ValueError(f"{folder.name} has no readable {MANIFEST}: {error}") from error
    if not isinstance(record, dict) or not isinstance(record.get("files"), dict):
        raise ValueError(f"{folder.name}/{MANIFEST} does not list its files")
    return record


def damage(folder: Path, *, hashes: bool = True) -> str:
    """Why `folder` is not as it was sealed, or "". Without `hashes` only files whose time has changed are hashed."""
    try:
        files = manifest(folder)["files"]
    except ValueError as error:
        return str(error)
    for name, record in files.items():
        path = folder / name
        if not path.is_file():
            return f"{name} is missing"
        status = path.stat()
        if status.st_size != record["size"]:
            return f"{name} has {status.st_size} of {record['size']} bytes"
        if (hashes or status.st_mtime_ns != record["mtime_ns"]) and sha256(path) != record["sha256"]:
            return f"{name} does not match its sha256"
    return ""


def sweep(target: Path) -> None:
    """Clear what dead writers of `target` left behind; a predecessor caught between two names gets its own back."""
    for part in target.parent.glob(f".{target.name}.part-*"):
        pid = part.name.removeprefix(f".{target.name}.part-").split("-")[0]
        if not pid.isdigit() or alive(int(pid)):
            continue
        if part.name.endswith("-old") and not target.exists():
            part.rename(target)
        else:
            shutil.rmtree(part, ignore_errors=True)


def alive(pid: int) -> bool:
    """Whether a process of that number runs here."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def sync(path: Path) -> None:
    """Wait until a file or folder is on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def is_full(error: BaseException) -> bool:
    """Whether an error means that the disk (or a quota) is full; some writers hide the number in their text."""
    code = error.errno if isinstance(error, OSError) else None
    return code in FULL or any(f"os error {code}" in str(error) for code in FULL)
