"""Pages of a dissertation: which chapter has which cells and claims."""

from collections import Counter
from dataclasses import replace

import pytest

from tidegate.studies.load import load_study
from tidegate.studies.outcome import Outcome
from tidegate.studies.report.chapters import chapter_of, chapter_table
from tidegate.studies.reproduce import reproduce


@pytest.fixture(scope="module")
def paper():
    return load_study("pricing")


def test_chapter_6_has_34_claims_on_two_pages(paper):
    """The analysis has 43, of which 23 are of chapters 2, 3, 5 and 7."""
    counts = Counter(
        (experiment.page, chapter_of(claim.section))
        for experiment in paper.experiments.values()
        for claim in experiment.claims
    )
    assert (counts["", "6"], counts["chapter-6", "6"]) == (20, 14)
    assert sum(count for (page, _), count in counts.items() if page == "") == 43


def test_a_page_says_which_chapter_has_what_and_where_the_rest_of_it_is(tmp_path):
    (done,) = reproduce("pricing/fig6.6.5", out=tmp_path)
    page = (tmp_path / "reproduce-pricing-fig6.6.5/RESULTS.md").read_text("utf-8")
    rows = [line for line in page.splitlines() if line.startswith("| 6 |")]
    held = done.summaries[0]["claims_held"]
    assert rows == [f"| 6 |  | {held} of 4 | [chapter-6](RESULTS-chapter-6.md) |"]


def test_what_has_no_cell_and_no_claim_is_no_row(paper):
    experiment = replace(paper.experiments["flapping"], claims=(), cells=())
    assert chapter_table(paper, [Outcome(experiment, (), (), ())]).count("\n") == 1
