"""Values of options that are read without pydantic are those that typer reads."""

from __future__ import annotations

import subprocess
import sys
from enum import StrEnum
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import ValidationError
from support import COMMAND, TINY
from typer._adapters import build_adapter
from typer.models import OptionInfo

from tidegate.cli.plain_values import MISSING, plain


class Shape(StrEnum):
    table = "table"
    json = "json"


TYPES = [str, int, float, bool, Shape, Path, list[str], list[Path]]
ABOUT = {int: {"min": 1, "max": 10_000}}


@pytest.mark.parametrize("annotation", TYPES, ids=str)
@given(text=st.text(max_size=12).filter(lambda text: "\0" not in text))
@example("12")
@example("0")
@example("10001")
@example("1_0")
@example(" 1")
@example("٣")
@example("9" * 5000)
@example("json")
@example("JSON")
@example("/")
@example("/etc/shadow/none")
def test_what_is_read_is_what_typer_reads(annotation: type, text: str) -> None:
    value = [text, text] if annotation in {list[str], list[Path]} else text
    about = OptionInfo(**ABOUT.get(annotation, {}))
    found = plain(value, annotation, about)
    try:
        expected = build_adapter(annotation, about).validate_python(value)
    except (ValidationError, ValueError):
        assert found is MISSING
    else:
        assert found is MISSING or (found == expected and type(found) is type(expected))


@pytest.mark.parametrize(
    ("annotation", "text", "value"),
    [(str, "a", "a"), (int, "20", 20), (Shape, "json", Shape.json), (Path, "a/b", Path("a/b"))],
)
def test_usual_values_are_read(annotation: type, text: str, value: object) -> None:
    assert plain(text, annotation, OptionInfo()) == value


def test_a_simulation_imports_neither_pydantic_nor_all_compute_functions(tmp_path: Path) -> None:
    path = tmp_path / "scenario.toml"
    path.write_text(TINY, encoding="utf-8")
    words = [sys.executable, "-X", "importtime", COMMAND, "simulate", path, "-r", "3"]
    words += ["--set", "users.a.flows=2", "--format", "table", "--seed", "4"]
    done = subprocess.run(words, capture_output=True, text=True, check=True, cwd=tmp_path)
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "pyarrow._compute" in imported
    assert not imported & {"pydantic", "pyarrow.compute"}
