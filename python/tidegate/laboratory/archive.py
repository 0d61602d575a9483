"""File systems for guests: cpio archives that a kernel unpacks as its root.

Archives may follow each other in one file; later entries replace earlier ones. They hold neither
times nor owners, so that the same content is the same bytes.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import PurePosixPath

_DIRECTORY, _FILE, _LINK = 0o040755, 0o100644, 0o120777
_EXECUTABLE = 0o111
_BLOCK = 512


class Archive:
    """A cpio archive in the format "newc".

    Linux, Documentation/driver-api/early-userspace/buffer-format.rst.
    """

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._known: set[str] = set()

    def directory(self, name: str) -> None:
        """Add a directory, and those above it, unless they are there."""
        if name in self._known or name in {"", "."}:
            return
        self.directory(str(PurePosixPath(name).parent))
        self._entry(name, _DIRECTORY, b"")

    def file(self, name: str, content: bytes, *, executable: bool = False) -> None:
        """Add a file."""
        self.directory(str(PurePosixPath(name).parent))
        self._entry(name, _FILE | (_EXECUTABLE if executable else 0), content)

    def link(self, name: str, target: str) -> None:
        """Add a symbolic link."""
        self.directory(str(PurePosixPath(name).parent))
        self._entry(name, _LINK, target.encode())

    def content(self) -> bytes:
        """Return the archive, its end padded to a whole number of blocks of 512 B."""
        whole = b"".join([*self._parts, _encoded(0, "TRAILER!!!", 0, b"")])
        return whole + bytes(-len(whole) % _BLOCK)

    def _entry(self, name: str, mode: int, content: bytes) -> None:
        self._known.add(name)
        self._parts.append(_encoded(len(self._parts) + 1, name, mode, content))


def _encoded(number: int, name: str, mode: int, content: bytes) -> bytes:
    named = name.encode() + b"\0"
    # Inode, mode, owner, group, links, time, size, four device numbers, length of name, checksum.
    fields = (number, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(named), 0)
    header = b"070701" + b"".join(b"%08X" % field for field in fields) + named
    return _padded(header) + _padded(content)


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)


def shared_libraries(program: str) -> list[str]:
    """Paths of the libraries and the loader that a program needs; none if it is static."""
    done = subprocess.run(["ldd", program], capture_output=True, text=True, check=False)  # noqa: S603, S607
    return sorted(set(re.findall(r"(?:=> |^\s*)(/\S+) \(0x", done.stdout, re.MULTILINE)))
