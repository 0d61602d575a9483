"""The commands of the twenty questions run, and what the page says to read is so."""

import json
import re
import shlex

import pytest
from support import ROOT

PAGE = (ROOT / "docs/how-to/questions.md").read_text(encoding="utf-8")
QUESTION = re.compile(
    r"^\*\*(\d+)\. .*?\*\*.*?<!-- expect: (.*?) -->\n```sh\n(.*?)\n```", re.MULTILINE | re.DOTALL
)
EXPECTED = re.compile(
    r"(?:(?P<variant>.+): )?(?P<name>\S+) (?P<metric>\w+) (?P<low>\S+)\.\.(?P<high>\S+)"
)
QUESTIONS = {int(number): (wanted, line) for number, wanted, line in QUESTION.findall(PAGE)}
RUNS = 3
"""Enough for intervals this wide."""


def test_there_are_twenty():
    assert list(QUESTIONS) == list(range(1, 21))


@pytest.mark.parametrize("number", QUESTIONS)
def test_what_a_question_says_to_read_is_there(number, tidegate_command):
    wanted, line = QUESTIONS[number]
    _, name, *arguments = shlex.split(line)
    runs = ("-r", str(RUNS)) if name in {"simulate", "sweep"} and "--until" not in line else ()
    arguments = [str(ROOT / word) if (ROOT / word).is_file() else word for word in arguments]
    done = tidegate_command(name, *arguments, *runs, "--format", "json")
    assert done.returncode == 0, done.stderr
    if wanted == "none":
        return
    found = {
        (row.get("variant"), row["name"], row["metric"]): row["mean"]
        for row in json.loads(done.stdout)["summary"]
    }
    for one in wanted.split("; "):
        read = EXPECTED.fullmatch(one)
        value = found[read["variant"], read["name"], read["metric"]]
        assert float(read["low"]) <= value <= float(read["high"]), f"{one}: {value:.4g}"
