"""Files that somebody names: regular ones alone, and no more of them than is wanted.

A name may lead anywhere: to a device without end, to a pipe without a writer, to a folder.
Nothing here waits for anybody, and nothing reads on beyond a limit.
"""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_KINDS = (
    (stat.S_ISDIR, "a folder"), (stat.S_ISFIFO, "a pipe"), (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"), (stat.S_ISSOCK, "a socket"),
)  # fmt: skip


class UnreadableError(Exception):
    """A file cannot be read; the message says why."""


def read_text(path: Path, limit: int) -> str:
    """The text of a regular file with a limit on its size, in UTF-8.

    Raises
    ------
    FileNotFoundError
        Where there is none.
    UnreadableError
        With the reason, in words.

    """
    try:
        content = _read(path, limit)
    except FileNotFoundError:
        raise
    except BlockingIOError:
        raise UnreadableError("it has nothing to read yet; name a file that is written") from None
    except OSError as error:
        raise UnreadableError(str(error.strerror)) from None
    except ValueError as error:  # a null character in the name
        raise UnreadableError(str(error)) from None
    if len(content) > limit:
        raise UnreadableError(f"it has more than {limit} bytes")
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise UnreadableError("it is not UTF-8 text") from None


def _read(path: Path, limit: int) -> bytes:
    """One byte more than the limit at most, which shows that there is more."""
    # A pipe would be waited for when it is opened, a terminal could become the process's own.
    number = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    with os.fdopen(number, "rb") as file:
        found = os.fstat(number)
        for is_one, kind in _KINDS:
            if is_one(found.st_mode):
                raise UnreadableError(f"it is {kind}, not a file")
        # Files below /proc have no size and may have no end: reading the kernel's log even takes
        # it from others.
        return file.read(limit + 1) if found.st_size else b""
