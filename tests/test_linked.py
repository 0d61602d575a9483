"""The identity of the compiled engine."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tidegate import _native
from tidegate.scenarios.linked import linked_id
from tidegate.scenarios.reading import build_id


@pytest.mark.skipif(shutil.which("readelf") is None, reason="needs readelf")
def test_it_is_the_build_id_that_readelf_prints() -> None:
    words = ["readelf", "--notes", "--wide", _native.__file__]
    printed = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    known = [line.split()[-1] for line in printed.splitlines() if "Build ID:" in line]
    assert [linked_id(Path(_native.__file__))] == (known or [None])


@pytest.mark.parametrize(
    "content", [b"", b"MZ", b"\x7fELF\x02\x01", b"\x7fELF\x02\x01" + b"\xff" * 99]
)
def test_a_library_without_it_has_none(tmp_path: Path, content: bytes) -> None:
    library = tmp_path / "library.so"
    library.write_bytes(content)
    assert linked_id(library) is None


def test_the_engine_has_an_identity_of_16_digits() -> None:
    assert len(build_id()) == 16
    int(build_id(), 16)
