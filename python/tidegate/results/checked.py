"""Files as they were written: regular files whose size and SHA-256 are known."""

from __future__ import annotations

import hashlib
import os
import stat
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from tidegate.errors import ResultError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from io import BufferedReader
    from pathlib import Path

MAX_BYTES = 2**36
"""No file of a result has more; larger sizes in a manifest are nonsense."""
_SHA256_DIGITS = 64


class Checksum(NamedTuple):
    """What is known of a file."""

    size: int
    """Bytes."""
    sha256: str
    """In hexadecimal digits."""

    @classmethod
    def of(cls, content: bytes) -> Checksum:
        """The checksum of a content."""
        return cls(len(content), hashlib.sha256(content).hexdigest())

    @classmethod
    def of_file(cls, path: Path) -> Checksum:
        """The checksum of a file that was just written."""
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            return cls(os.fstat(file.fileno()).st_size, digest)

    @classmethod
    def read(cls, size: object, sha256: object) -> Checksum | None:
        """The checksum that a file tells of another one; None where it is nonsense."""
        if type(size) is not int or not 0 <= size <= MAX_BYTES:
            return None
        if not isinstance(sha256, str) or len(sha256) != _SHA256_DIGITS:
            return None
        return cls(size, sha256)


def content_of(path: Path, at_most: int) -> bytes:
    """Read a regular file; links, pipes and devices are refused, as is what is too large."""
    try:
        with _opened(path) as file:
            size = os.fstat(file.fileno()).st_size
            if size > at_most:
                raise ResultError(f"{path} is damaged: it has {size} bytes and may have {at_most}")
            return file.read(at_most)
    except OSError as error:
        raise ResultError(f"{path} cannot be read: {error.strerror or error}") from error


def checked_content(path: Path, known: Checksum) -> bytes:
    """Read a file that is as it was written."""
    content = content_of(path, known.size)
    if len(content) != known.size:
        raise ResultError(f"{path} is damaged: it has {len(content)} bytes, not {known.size}")
    if Checksum.of(content) != known:
        raise ResultError(f"{path} is damaged: its SHA-256 is not that of what was written")
    return content


def is_intact(path: Path, known: Checksum) -> bool:
    """Whether a file is as it was written, without having all of it in memory."""
    try:
        with _opened(path) as file:
            if os.fstat(file.fileno()).st_size != known.size:
                return False
            return hashlib.file_digest(file, "sha256").hexdigest() == known.sha256
    except (OSError, ResultError):
        return False


def parquet_table(path: Path, content: bytes, columns: Sequence[str] | None = None) -> Any:  # noqa: ANN401 - pyarrow has no types
    """The table in a file's content; the checksums of its pages are verified as well."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        # All in this thread: one of Arrow's that still runs when a short script ends aborts it, and
        # `read_table` starts one for its scanner.
        file = pq.ParquetFile(
            pa.BufferReader(content), page_checksum_verification=True, pre_buffer=False
        )
        if columns is None:
            return file.read(use_threads=False)
        return file.read(list(columns), use_threads=False).select(list(columns))
    except (OSError, ValueError, KeyError, pa.ArrowException) as error:
        first = str(error).partition("\n")[0]
        raise ResultError(f"{path} is damaged: {first}") from error


@contextmanager
def _opened(path: Path) -> Iterator[BufferedReader]:
    if path.is_symlink():
        raise ResultError(f"{path} cannot be read: it is a symbolic link")
    with open(path, "rb", opener=_at_once) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise ResultError(f"{path} cannot be read: it is not a regular file")
        yield file


def _at_once(path: str, flags: int) -> int:
    """Open without following a link and without waiting for the other end of a pipe."""
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)
