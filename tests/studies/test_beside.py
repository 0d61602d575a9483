"""Points of ours beside the same that were measured elsewhere."""

import dataclasses

import pytest

from tidegate.results.statistics import Estimate, estimate, welch95, welch95_half
from tidegate.studies.beside import Beside, all_beside
from tidegate.studies.errors import ReproductionError
from tidegate.studies.explanations import StudyExplanation, Support
from tidegate.studies.factors import Setting
from tidegate.studies.judge import CellVerdict
from tidegate.studies.model import Cell, Experiment, Series
from tidegate.studies.outcome import Outcome
from tidegate.studies.points import Point, Points
from tidegate.studies.report.beside import blocks_beside
from tidegate.studies.sides.measured import about_the_runs

TABLE = """case,metric,mean,ci95,runs,kernel,machine
a,ratio,2.0,0.1,5,6.12,two cores
a,queue,20.0,1.0,5,6.12,two cores
a,queue_least,19.0,,,6.12,two cores
a,queue_most,21.0,,,6.12,two cores
a,marks,0.0,0.0,5,6.12,two cores
a,packets,100.0,1.0,4,6.12,two cores
a,invalid_runs,1.0,,,6.12,two cores
a,lateness_p99_s_most,6e-05,,,6.12,two cores
a,cpu_share_most,0.09,,,6.12,two cores
a,busy_share_least,0.25,,,6.12,two cores
a,busy_share_most,0.39,,,6.12,two cores
b,ratio,1.0,0.5,5,6.12,two cores
b,queue,44.5,1.0,5,6.12,two cores
"""
SPEC = {
    "ours": "simulated",
    "series": "linux",
    "name": "Linux",
    "row": {"case": "scenario"},
    "metrics": {
        "ratio": {"name": "ratio"},
        "queue": {"name": "mean queue", "unit": "packets"},
        "marks": {"name": "marks", "unit": "%", "scale": 100},
    },
}


@pytest.fixture
def table(tmp_path):
    file = tmp_path / "lab.csv"
    file.write_text(TABLE)
    return file


def experiment(table, cases="ab", **spec):
    series = {
        "simulated": Series("simulated", tuple(Setting({"case": c}, ()) for c in cases[:1]), 5),
        "linux": Series(
            "linux", tuple(Setting({"case": c}, ()) for c in cases), 0, side="lab", measured=table
        ),
    }
    beside = Beside(**{**SPEC, **spec})
    return Experiment(
        name="e", title="E", section="", series=series, cells=(*beside.cells("e", series),),
        claims=(), figure={"kind": "beside", "metrics": ["ratio", "queue"]}, notes="",
        metric_of={}, beside=beside,
    )  # fmt: skip


def points(table, ratio, queue, marks=(0.0, 0.0), cases="ab"):
    from tidegate.studies.sides.measured import measured

    values = {"ratio": ratio, "queue": queue, "marks": marks}
    ours = {name: Estimate(*value, 5) for name, value in values.items()}
    return Points({
        ("e", "simulated"): [Point({"case": "a"}, ours)],
        ("e", "linux"): [Point({"case": c}, measured(table, {"case": c})) for c in cases],
    })  # fmt: skip


def judged(table, supports=(), **values):
    one, found = experiment(table), points(table, **values)
    outcome = Outcome(one, tuple(all_beside(one.beside, one.cells, found)), (), supports)
    return outcome, blocks_beside(outcome, found)


def test_a_cell_is_within_ten_per_cent_undecided_by_chance_or_out(table):
    outcome, blocks = judged(table, ratio=(2.1, 0.01), queue=(21.0, 0.1))
    assert [one.within for one in outcome.cells] == [True, True]
    assert outcome.summary("")["cells_within"] == 2
    assert blocks["agreement: e"].startswith("**2 of 2 numbers (100 %) are within 5 % of Linux")
    outcome, blocks = judged(table, ratio=(2.5, 0.01), queue=(25.0, 8.0))
    ratio, queue = outcome.cells
    assert (ratio.within, ratio.undecided, queue.within, queue.undecided) == (
        False, False, False, True,
    )  # fmt: skip
    summary = outcome.summary("")
    assert summary["undecided"] == ["e: case=a queue"]
    assert summary["unexplained"] == ["e: case=a ratio"]
    assert summary["ok"] is False
    assert "**0 of 1 rows" in blocks["agreement: e"]
    assert "ratio in 0 of 1, mean queue in 0 of 1 (1 more undecided)" in blocks["agreement: e"]
    reported = blocks["deviating: e"]
    assert "- a, ratio: not explained." in reported
    assert "- a, mean queue: undecided" in reported


def test_a_number_is_close_within_five_per_cent_or_where_chance_may_explain_it(table):
    _, blocks = judged(table, ratio=(2.0, 0.01), queue=(21.5, 0.01))
    # 7.5 % off, and the interval of the other side is 5 % wide.
    assert "**1 of 2 numbers (50 %) are within 5 %" in blocks["agreement: e"]
    assert "; 2 are within 10 %.**" in blocks["agreement: e"]
    _, blocks = judged(table, ratio=(2.0, 0.01), queue=(21.5, 2.0))
    assert "**2 of 2 numbers (100 %) are within 5 %" in blocks["agreement: e"]


def test_nothing_is_compared_where_both_have_none_and_chance_counts_beside_none(table):
    outcome, _ = judged(table, ratio=(2.0, 0.1), queue=(20.0, 1.0))
    assert {one.cell.metric for one in outcome.cells} == {"ratio", "queue"}
    for half, undecided in ((0.2, True), (0.05, False)):
        outcome, _ = judged(table, ratio=(2.0, 0.1), queue=(20.0, 1.0), marks=(0.1, half))
        (marks,) = (one for one in outcome.cells if one.cell.metric == "marks")
        assert (marks.within, marks.undecided) == (False, undecided)


def test_the_table_has_both_sides_the_deviation_and_what_one_side_alone_has(table):
    _, blocks = judged(table, ratio=(2.5, 0.01), queue=(20.0, 1.0))
    head, _, first, second = blocks["beside: e"].splitlines()
    assert head == "| scenario | ratio | mean queue [packets] | verdict |"
    assert first.startswith("| a | 2.50 ± 0.01<br>2.00 ± 0.10<br>**+25 ± ")
    assert first.endswith(" | beyond 10 %: ratio |")
    assert second == "| b | Linux: 1.0 ± 0.5 | Linux: 44.5 ± 1.0 | – |"


def test_a_deviation_leads_to_its_explanation(table):
    one = StudyExplanation(id="why", text="so", derived_in="x::y", cells=[{"case": "a"}])
    supports = [Support(one, (), Points())]
    outcome, blocks = judged(table, supports, ratio=(2.5, 0.01), queue=(20.0, 1.0))
    assert "](#why)" in blocks["beside: e"]
    assert "explained by [why](#why)" in blocks["deviating: e"]
    assert outcome.summary("")["explained"] == ["e: case=a ratio"]


def test_our_interval_may_meet_the_range_of_the_other_sides_runs(table):
    for queue, inside in (((22.0, 1.5), 1), ((22.0, 0.5), 0)):
        _, blocks = judged(table, ratio=(2.0, 0.1), queue=queue)
        assert f"{inside} of 1 lie inside the range" in blocks["agreement: e"]


def test_the_page_says_what_it_was_measured_on(table):
    reported = about_the_runs(table, [Setting({"case": "a"}, ())])
    assert reported == (
        "Measured with Linux 6.12 on two cores. In the valid runs 99 % of the packets left the "
        "forwarder within 60 µs of their time, and it used at most 9 % of a core. All processors "
        "were 25 to 39 % busy. 1 of the 5 runs on Linux were invalid."
    )
    assert about_the_runs(table, []) == "Measured with Linux 6.12 on two cores."


def test_numbers_for_orientation_stand_beside(table):
    paper = table.with_name("paper.csv")
    paper.write_text("case,metric,mean,ci95,runs\na,ratio,1.9,,\n")
    one = experiment(table, also={"paper": {"ratio": {"name": "the paper"}}})
    found = points(table, ratio=(2.0, 0.1), queue=(20.0, 1.0))
    found.points["e", "paper"] = [Point({"case": "a"}, {"ratio": Estimate(1.9)})]
    outcome = Outcome(one, tuple(all_beside(one.beside, one.cells, found)), (), ())
    head, _, first, second = blocks_beside(outcome, found)["beside: e"].splitlines()
    assert head.startswith("| scenario | the paper | ratio |")
    assert first.startswith("| a | 1.9 | 2.00 ± 0.10<br>")
    assert second.startswith("| b | – |")


def test_the_figure_has_each_deviation_and_the_number_of_one_beyond_its_edge(table, tmp_path):
    from tidegate.studies.figures import draw

    found = points(table, ratio=(4.0, 0.1), queue=(20.0, 1.0))
    file = draw(experiment(table), found, tmp_path / "figures")
    assert file.is_file()
    if file.suffix == ".svg":
        assert "+100" in file.read_text(encoding="utf-8")


def test_a_further_series_has_blocks_and_marks_of_its_own(table, tmp_path):
    from tidegate.studies.figures import draw

    stock = table.with_name("stock.csv")
    stock.write_text(
        "case,metric,mean,ci95,runs,kernel,machine\na,ratio,2.5,nan,1,6.12,qemu\n", "utf-8"
    )
    one = experiment(table)
    linux = one.series["linux"]
    own = {"name": "stock", "measured": stock, "settings": linux.settings[:1]}
    more = dataclasses.replace(linux, **own)
    one = dataclasses.replace(
        one,
        series={**one.series, "stock": more},
        figure={**one.figure, "also": {"stock": "stock Linux"}},
    )
    found = points(table, ratio=(2.0, 0.1), queue=(20.0, 1.0))
    found.points["e", "stock"] = [Point({"case": "a"}, {"ratio": Estimate(2.5, float("nan"), 1)})]
    outcome = Outcome(one, tuple(all_beside(one.beside, one.cells, found)), (), ())
    blocks = blocks_beside(outcome, found)
    assert "within 5 % of Linux" in blocks["agreement: e"]
    assert "**0 of 1 rows are within 10 % of stock Linux" in blocks["agreement: e stock"]
    assert "2.00 ± 0.10<br>2.50<br>**−20 %**" in blocks["beside: e stock"]
    assert blocks["machine: e stock"] == "Measured with Linux 6.12 on qemu."
    file = draw(one, found, tmp_path / "figures")
    if file.suffix == ".svg":
        assert "Linux (dots) and stock Linux (diamonds)" in file.read_text(encoding="utf-8")


def test_a_series_without_a_table_cannot_be_beside(table):
    one = experiment(table)
    without = {**one.series, "linux": dataclasses.replace(one.series["linux"], measured=None)}
    with pytest.raises(ReproductionError, match="no table"):
        list(one.beside.cells("e", without))


def test_chance_is_welchs_and_a_published_number_has_none():
    a, b = [9.0, 10.0, 11.0], [11.0, 12.0, 13.0, 14.0]
    assert welch95_half(estimate(a), estimate(b)) == pytest.approx(welch95(a, b)[1])
    published = CellVerdict(Cell("e", {}, "m", 1.0, "1"), Estimate(2.0, 9.0, 5), None)
    assert not published.undecided
