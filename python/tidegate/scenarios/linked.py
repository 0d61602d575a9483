"""The identity that a linker wrote into a compiled library."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_ELF_64_LITTLE = b"\x7fELF\x02\x01"
_PT_NOTE = 4
_NT_GNU_BUILD_ID = 3
_START_BYTES = 4096
"""Headers and notes are at the start of the file."""


def linked_id(library: Path) -> str | None:
    """Return the GNU build id, a hash of the library's content; None where it has none."""
    with library.open("rb") as file:
        start = file.read(_START_BYTES)
    if not start.startswith(_ELF_64_LITTLE):
        return None
    try:
        (table,) = struct.unpack_from("<Q", start, 32)
        size, count = struct.unpack_from("<HH", start, 54)
        for place in range(table, table + size * count, size):
            kind, _, offset, _, _, length = struct.unpack_from("<IIQQQQ", start, place)
            if kind == _PT_NOTE and (found := _build_id(start[offset : offset + length])):
                return found
    except (struct.error, OverflowError):
        pass
    return None


def _build_id(notes: bytes) -> str | None:
    place = 0
    while place + 12 <= len(notes):
        name_bytes, bytes_, kind = struct.unpack_from("<III", notes, place)
        content = place + 12 + _padded(name_bytes)
        if kind == _NT_GNU_BUILD_ID and notes[place + 12 : content] == b"GNU\0":
            return notes[content : content + bytes_].hex()
        place = content + _padded(bytes_)
    return None


def _padded(length: int) -> int:
    return (length + 3) & ~3
