"""README says in numbers what the result pages say; `make readme` writes them anew."""

import os
import re
import shutil

import pytest
from readme_numbers import Statement, all_pages_count_it, statements, with_column
from support import ROOT

import tidegate

README = ROOT / "README.md"
FIGURE = "who-got-what.png"
# Numbers that no measurement yields, in the words around them.
NOT_MEASURED = (
    "on x86-64, arm64 and in your browser",
    "Rust (1.95)", "Python (3.11 or", "share 10 Mb/s of an", "occasional 1 MB upload",
    "of a 10 Mb/s link", "on Linux 6.18:", "table 2 at 5 ms", "Linux 2.6.29",
    "γ | 0 (no ABC) | 1 | 2 | 3 | 4 | 5 |", "are within 10 % of",
    "FQ-CoDel", "DualPI2", "ns-2", "ns-3", "Apache-2.0",
)  # fmt: skip


@pytest.fixture(scope="module")
def evening():
    """What `make run` shows."""
    against = [("bottleneck.differentiation.kind", "none")]
    return tidegate.compare(ROOT / "scenarios/evening-peak.toml", against=against)


@pytest.fixture(scope="module")
def expected(evening):
    found = statements(evening)
    if os.environ.get("UPDATE"):
        before = README.read_text(encoding="utf-8")
        readme = with_column(before, all_pages_count_it())
        for statement in found:
            readme = statement.written(readme)
        README.write_text(readme, encoding="utf-8")
        if readme != before:
            _draw(evening)
    return found


def test_every_number_of_readme_is_what_its_page_says(expected):
    readme = README.read_text(encoding="utf-8")
    reported = {one.sentence: (one.source, one.reported(readme)) for one in expected}
    assert reported == {one.sentence: (one.source, one.values) for one in expected}, (
        "see `make readme`"
    )


def test_readme_has_no_number_whose_page_is_not_known(expected):
    readme = README.read_text(encoding="utf-8")
    for statement in expected:
        readme = _without_groups(statement.found(readme), readme)
    for phrase in NOT_MEASURED:
        pattern = r"\s+".join(map(re.escape, phrase.split()))
        assert re.search(pattern, readme), f"README no longer says {phrase!r}"
        readme = re.sub(pattern, "", readme)
    numbers = r".*(?:\d|\b(?:eleven|twelve|[a-z]+teen|twenty|hundred)).*"
    assert re.findall(numbers, _prose(readme)) == []


def test_a_number_that_differs_from_its_page_is_seen_and_written():
    statement = Statement("a page", "agree in {} of {} cells.", ("132", "194"))
    old = "They\nagree in 130 of\n194 cells. Others do not."
    assert statement.reported(old) == ("130", "194")
    assert statement.written(old) == "They\nagree in 132 of\n194 cells. Others do not."


def test_the_column_for_what_needs_no_mechanism_comes_with_the_pages():
    row = "| [ConEx](studies/conex/RESULTS.md) | 15 of 16 | 71 of 98 | declared |"
    old = f"| paper | numbers that agree | statements that hold | by |\n|---|---|---|---|\n{row}\n"
    assert with_column(old, pages_count_it=False) == old
    new = with_column(old, pages_count_it=True)
    assert new.splitlines() == [
        "| paper | numbers that agree | statements that hold | without the mechanism | by |",
        "|---|---|---|---|---|",
        "| [ConEx](studies/conex/RESULTS.md) | 15 of 16 | 71 of 98 | 0 of 0 | declared |",
    ]
    assert with_column(new, pages_count_it=True) == new


def _without_groups(match, text):
    """The text with nothing where the sentence's numbers stood, and the words kept."""
    for number in range(match.re.groups, 0, -1):
        start, end = match.span(number)
        text = text[:start] + text[end:]
    return text


def _prose(text):
    """Without code, without the targets of links, without pictures' files."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"`[^`]*`|\]\([^)]*\)", "", text)


def _draw(evening):
    folder = ROOT / "docs/_build/readme"
    folder.mkdir(parents=True, exist_ok=True)
    evening.plot(folder)
    shutil.copyfile(folder / FIGURE, ROOT / "docs/images" / FIGURE)
