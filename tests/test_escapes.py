"""Text from files reaches terminals, pages and figures as text, and never as an order."""

from __future__ import annotations

import json
import re
import subprocess
import unicodedata
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib import mathtext, rc_context
from support import COMMAND

import tidegate
from tidegate.escapes import in_json, lines, markdown, one_line
from tidegate.figures.look import STYLE, new_figure, subtitle, write
from tidegate.results.show import Grid, html_table, rich_table
from tidegate.studies.page import grid_table

CLI = Path(tidegate.__file__).parent / "cli"
DIRECTIONS = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
HOSTILE = "\x1b]0;own\x07\x9b2J\u202e\nwarning: forged|`x`<b>$\\frac$"

texts = st.text(
    st.characters() | st.sampled_from("\x00\x07\x1b\x7f\x85\x9b\n\r\t\u2028\u202e\u2066|`<\\$[]()"),
    max_size=40,
)


def is_obeyed(character: str) -> bool:
    category = unicodedata.category(character)
    return (
        category in {"Cc", "Zl", "Zp", "Cs"} or unicodedata.bidirectional(character) in DIRECTIONS
    )


@given(texts)
def test_a_line_has_nothing_that_a_terminal_obeys(text: str) -> None:
    assert not any(map(is_obeyed, one_line(text)))
    assert one_line(one_line(text)) == one_line(text)
    assert not any(is_obeyed(c) for c in lines(text) if c not in "\n\t")
    assert one_line(lines(text)) == one_line(text)


@given(st.text(st.characters(categories=["L", "N", "P", "S", "Zs"]), max_size=40))
def test_what_is_only_shown_stays(text: str) -> None:
    assert lines(text) == text


@given(texts)
def test_json_says_the_same_and_has_nothing_that_a_terminal_obeys(text: str) -> None:
    document = in_json(json.dumps({text: [text]}, ensure_ascii=False, indent=1))
    assert json.loads(document) == {text: [text]}
    assert not any(is_obeyed(c) for c in document if c != "\n")


@given(texts)
def test_a_cell_of_a_page_stays_a_cell_with_text_in_it(text: str) -> None:
    grid = Grid("Names", ["who", "got"], [[text, "1"]])
    (row,) = grid_table(grid).split("\n")[2:]
    unescaped = re.sub(r"\\[\\`*<|\[]", "", row)
    assert unescaped.count("|") == 3, row
    assert not set("`<") & set(unescaped)
    assert "](" not in unescaped or "[" not in unescaped.partition("](")[0]
    assert not any(map(is_obeyed, markdown(text)))


@given(texts)
def test_tables_for_terminals_and_notebooks_escape_their_cells(text: str) -> None:
    from rich.console import Console

    console = Console(width=400, no_color=True)
    with console.capture() as captured:
        console.print(rich_table(Grid(text, [text, "got"], [[text, "1"]])))
    assert not any(is_obeyed(c) for c in captured.get() if c not in "\n\t")
    made = html_table(Grid(text, ["who", "got"], [[text, "1"]]))
    assert not any(is_obeyed(c) for c in made if c not in "\n\t")


def test_no_sign_in_a_name_is_a_formula_s(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def parse(*_: object, **__: object) -> None:
        raise AssertionError("a formula is drawn")

    monkeypatch.setattr(mathtext.MathTextParser, "parse", parse)
    figure, axes = new_figure(height=2.0)  # without the style, as other code may draw
    subtitle(axes, r"$\frac{1}{2}$ and $x", HOSTILE)
    axes.plot(np.arange(3), label=r"$\sum$")
    axes.legend()
    write(figure, tmp_path / "plain.png")
    assert not any(is_obeyed(c) for text in axes.texts for c in text.get_text() if c != "\n")
    with rc_context(STYLE):
        figure, axes = new_figure(height=2.0)
        axes.set_xlabel(r"$\frac{")
        write(figure, tmp_path / "styled.png")


def test_every_command_prints_by_the_writers_that_escape() -> None:
    own = re.compile(r"typer\.(secho|echo)|(?<!\.)\bprint\(|click\.echo|sys\.std\w+\.write")
    for file in CLI.glob("*.py"):
        if file.name not in {"common.py", "endings.py"}:
            assert not own.search(file.read_text(encoding="utf-8")), file.name


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    path = tmp_path / "hostile.toml"
    texts = f"name = {json.dumps(HOSTILE)}\ndescription = {json.dumps(HOSTILE)}\n"
    rest = "[bottleneck]\nrate = '10 Mb/s'\n[users.a]\nflows = 1\n"
    head = "version = 1\nwarm_up = '0 s'\nduration = '100 ms'\n"
    path.write_text(head + texts + rest, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    "arguments",
    [
        ["simulate", "--no-save"],
        ["simulate", "--no-save", "--format", "json"],
        ["simulate", "--no-save", "--format", "csv"],
        ["simulate", "--plot"],
        ["analyse"],
        ["validate"],
        ["validate", "--set", f"users.a.{HOSTILE}=1"],
        ["validate", "--set", f"bottleneck.rate={HOSTILE}"],
        ["simulate", "--no-save", "--against", f"name={HOSTILE}x"],
    ],
)
def test_a_command_shows_a_hostile_file_as_text(hostile: Path, arguments: list[str]) -> None:
    command, *options = arguments
    done = subprocess.run(
        [COMMAND, command, hostile, *options], cwd=hostile.parent, capture_output=True, check=False
    )
    for stream in (done.stdout, done.stderr):
        text = stream.decode()
        assert not any(is_obeyed(c) for c in text if c != "\n"), text
        assert "\nwarning: forged" not in text
        assert "Traceback" not in text


def test_a_file_s_own_name_is_shown_as_text(tmp_path: Path) -> None:
    path = tmp_path / "a\x1b]0;own\x07\n.toml"
    path.write_text("version = 2\n", encoding="utf-8")
    for command in ("validate", "simulate"):
        for name in (path, tmp_path / "absent\x1b.toml"):
            done = subprocess.run([COMMAND, command, name], capture_output=True, check=False)
            assert done.returncode == 3
            assert b"\x1b" not in done.stdout + done.stderr
