"""The commands of every tutorial run, and print what the page shows.

A block of TOML or Python whose first line is ``# NAME`` is saved as that file. A block of shell
commands is run in the same folder, with `tidegate` and `python` in the path. The block of text
after it is their standard output. A line with ``…`` alone stands for any number of lines, and ``…``
at the end of a line for its rest. ``UPDATE=1`` writes the output of blocks without ``…`` into the
pages, and the figures that they show into ``docs/images``.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support import ROOT

PAGES = sorted((ROOT / "docs/tutorials").glob("*.md"))
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
FIGURE = re.compile(r"\]\(\.\./images/(my-[\w.-]+)\)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_commands_of_a_tutorial_print_what_it_shows(page, tmp_path):
    text = page.read_text(encoding="utf-8")
    printed, differences, blocks, commands = None, [], [], 0
    for block in BLOCK.finditer(text):
        language, content = block.groups()
        if language in {"toml", "python"}:
            name = re.match(r"# (\S+)\n", content)
            assert name, f"a block of {page.name} does not name its file: {content}"
            (tmp_path / name[1]).write_text(content, encoding="utf-8")
        elif language == "sh":
            printed = _run(content, tmp_path)
            commands += 1
        elif language == "text":
            assert printed is not None, f"{page.name} shows output without a command"
            blocks.append((block, printed))
            if not _matches(content, printed):
                differences.append(
                    f"{page.name} shows\n{content}\nand the command prints\n{printed}"
                )
            printed = None
    assert commands >= 3
    figures = FIGURE.findall(text)
    assert [name for name in figures if not (tmp_path / name).is_file()] == []
    if os.environ.get("UPDATE"):
        page.write_text(_updated(text, blocks), encoding="utf-8")
        for name in figures:
            shutil.copyfile(tmp_path / name, ROOT / "docs/images" / name)
        return
    assert not differences, "\n".join(differences)


def test_the_landing_page_shows_what_its_command_prints(tmp_path):
    page = ROOT / "docs/index.md"
    text = page.read_text(encoding="utf-8")
    pair = re.compile(r"^```sh\n(tidegate .*)\n```\n\n```text\n(.*?)^```", re.MULTILINE | re.DOTALL)
    [found] = pair.finditer(text)
    printed = _run(found[1], tmp_path)
    if os.environ.get("UPDATE"):
        page.write_text(text[: found.start(2)] + printed.strip("\n") + "\n" + text[found.end(2) :])
        return
    assert _matches(found[2], printed), printed


@pytest.mark.parametrize(
    ("shown", "printed", "same"),
    [
        ("a\nb\n", "a\nb\n", True),
        ("a  b\n", "a b \n", True),
        ("a\n", "a\nb\n", False),
        ("a\n…\nc\n", "a\nb\nb\nc\n", True),
        ("a\n…\n", "b\na\n", False),
        ("a 1 …\n", "a 1 2\n", True),
        ("a 1 …\n", "a 2 1\n", False),
    ],
)
def test_output_is_compared_line_by_line_but_for_what_is_left_out(shown, printed, same):
    assert _matches(shown, printed) == same


def _run(commands: str, folder: Path) -> str:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "MPLBACKEND": "Agg", "SOURCE_DATE_EPOCH": "0"}
    environment = {key: value for key, value in environment.items() if key[:8] != "TIDEGATE"}
    done = subprocess.run(
        ["bash", "-euc", commands], cwd=folder, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, f"{commands}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def _matches(shown: str, printed: str) -> bool:
    lines = [" ".join(line.split()) for line in shown.splitlines() if line.strip()]
    pattern = "".join(r"(?:.*\n)*?" if line == "…" else _line(line) for line in lines)
    found = [" ".join(line.split()) for line in printed.splitlines() if line.strip()]
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in found)) is not None


def _line(line: str) -> str:
    start, rest, _ = line.partition("…")
    return re.escape(start.rstrip()) + (".*" if rest else "") + "\n"


def _updated(text: str, blocks: list) -> str:
    for block, printed in reversed(blocks):
        if "…" not in block[2]:
            lines = [line.rstrip() for line in printed.strip("\n").splitlines()]
            content = "".join(f"{line}\n" for line in lines)
            text = text[: block.start(2)] + content + text[block.end(2) :]
    return text
