"""Files and folders that are replaced in one step: the old one or the new one is under the name.

What is new is written beside its place, as a *draft* whose name has a fixed form, forced to the
disk and put in place by one rename. A folder that is there changes places with its draft
(``renameat2`` with ``RENAME_EXCHANGE``, Linux 3.15). A killed process leaves a draft; the next
writer to the same place removes it.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import re
import shutil
import socket
import threading
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from tidegate.errors import ResultError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

FORGOTTEN_S = 86_400.0
"""After this time, seconds, a draft of another machine has no owner."""

_DRAFT = re.compile(
    r"\.(?P<name>.+)\.(?P<host>[^./]+)\.(?P<process>[0-9]+)\.(?P<thread>[0-9]+)\.(?P<end>tmp|old)"
)
_AT_FDCWD, _RENAME_EXCHANGE = -100, 2
_NO_EXCHANGE = {errno.ENOSYS, errno.EINVAL, errno.ENOTSUP}
"""What kernels and file systems without an exchange answer."""


def draft_of(path: Path, end: str = "tmp") -> Path:
    """Where this thread writes what is to become `path`."""
    return path.with_name(f".{path.name}.{_host()}.{os.getpid()}.{threading.get_native_id()}.{end}")


def replace_file(path: Path, write: Callable[[Path], object]) -> None:
    """Let `write` fill a draft, then put it in the place of a file."""
    draft = draft_of(path)
    try:
        draft.unlink(missing_ok=True)
        # Exclusive: a link that somebody else put there would lead the writing elsewhere.
        os.close(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666))
        write(draft)
        _sync(draft)
        draft.rename(path)
    except OSError as error:
        with suppress(OSError):
            draft.unlink()
        raise ResultError(f"cannot write {path}: {error.strerror or error}") from error


def replace_folder(folder: Path, draft: Path) -> None:
    """Put a folder that was written as a draft in place; what stood there is removed."""
    for place in (draft, *(path for path in draft.rglob("*") if path.is_dir())):
        _sync(place)
    if folder.exists():
        _exchange(draft, folder)
        _sync(folder.parent)
        # Its name is the draft's now: a draft that is left is removed by the next writer.
        shutil.rmtree(draft, ignore_errors=True)
    else:
        draft.rename(folder)
        _sync(folder.parent)


def take_along(paths: list[Path], to: Path) -> None:
    """Give a draft what shall stay; by hard links, so that the old folder is whole meanwhile."""
    for path in paths:
        if path.is_dir() and not path.is_symlink():
            shutil.copytree(path, to / path.name, symlinks=True, copy_function=_link)
        else:
            _link(path, to / path.name)


def clear_leftovers(folder: Path, name: str | None = None) -> None:
    """Remove drafts in a folder that killed writers left; of one name alone where it is given.

    Only what has the form of a draft's name is looked at.
    """
    try:
        there = sorted(folder.iterdir())
    except OSError:
        return
    for path in there:
        found = _DRAFT.fullmatch(path.name)
        if found is None or name not in {None, found["name"]} or _in_use(path, found):
            continue
        with suppress(OSError):
            _clear(path, folder / found["name"], found["end"])


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Have a file as a lock to oneself, beside other processes and threads."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(path, flags, 0o666)
    except OSError as error:
        raise ResultError(f"cannot write {path}: {error.strerror or error}") from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _clear(path: Path, place: Path, end: str) -> None:
    if end == "old" and not place.exists():
        path.rename(place)  # killed between the two renames of a file system without an exchange
    elif path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink()


def _exchange(draft: Path, folder: Path) -> None:
    """Let two folders change names."""
    if _renameat2(draft, folder):
        return
    # Two steps; a process killed between them leaves an `.old`, which the next writer puts back.
    old = draft_of(folder, "old")
    folder.rename(old)
    draft.rename(folder)
    old.rename(draft)


def _renameat2(one: Path, other: Path) -> bool:
    """Exchange in one step; False where this system has no such thing."""
    call = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if call is None:
        return False
    if call(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _RENAME_EXCHANGE) == 0:
        return True
    code = ctypes.get_errno()
    if code in _NO_EXCHANGE:
        return False
    raise OSError(code, os.strerror(code), str(other))


def _link(source: str | Path, to: str | Path) -> None:
    """Link, or copy where the file system has no hard links."""
    try:
        os.link(source, to, follow_symlinks=False)
    except OSError:
        shutil.copy2(source, to, follow_symlinks=False)


def _sync(path: Path) -> None:
    """Force to the disk: of a folder its list of names."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    except OSError as error:
        # Some network file systems have nothing to force of a folder.
        if not (path.is_dir() and error.errno == errno.EINVAL):
            raise
    finally:
        os.close(descriptor)


def _host() -> str:
    return socket.gethostname().replace(".", "-") or "localhost"


def _in_use(draft: Path, named: re.Match[str]) -> bool:
    """Whether its writer may still be at it."""
    if named["host"] == _host():
        return _is_alive(named["process"])
    try:
        return time.time() - draft.lstat().st_mtime < FORGOTTEN_S
    except OSError:
        return False


def _is_alive(process: str) -> bool:
    """Whether a process of this machine runs; a killed one is listed until it is waited for."""
    try:
        state = Path(f"/proc/{process}/stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return False
    return state.rpartition(")")[2].split()[0] not in "ZX"
