"""Where reports go, what is in them, and what a terminal shows."""

import re
from dataclasses import replace

import pytest

import tidegate
from tidegate.data import data_folder
from tidegate.studies import reproduce as reproduction

from .synthetic import FakeSimulation


@pytest.fixture
def papers(tmp_path, monkeypatch):
    """A copy of the ABC paper's data without its pages, and a folder to work in."""
    paper = tmp_path / "source/studies/abc"
    paper.mkdir(parents=True)
    for path in (data_folder("studies") / "abc").iterdir():
        if path.name not in ("RESULTS.md", "figures"):
            (paper / path.name).symlink_to(path)
    monkeypatch.setenv("TIDEGATE_STUDIES", str(paper.parent))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    return paper


def test_a_report_has_every_cell_and_a_figure(papers, tmp_path):
    (done,) = reproduction.reproduce("abc/table4", quick=True, engine=FakeSimulation)
    written = tmp_path / "work/results/reproduce-abc-table4-quick"
    assert done.folder.resolve() == written
    report = (written / "RESULTS.md").read_text(encoding="utf-8")
    assert report.count("| throughput_ratio_T_R |") == 12
    assert report.count("| mean_queue_length_Q_avg |") == 12
    assert (
        "Written by `tidegate reproduce abc/table4 --quick`, with at most 8 runs a point" in report
    )
    assert (written / "figures" / "table4.svg").stat().st_size > 10_000
    assert not (written / "figures" / "table4.png").exists()
    reproduction.reproduce("abc/table4", replications=1, engine=FakeSimulation)
    assert (tmp_path / "work/results/reproduce-abc-table4/figures/table4.svg").exists()


def test_no_report_takes_the_place_of_another_or_of_the_papers_own_page(papers, tmp_path):
    before = sorted(papers.iterdir())
    for target, quick in (("abc/fig2", False), ("abc/fig2", True), ("abc/fig4", False)):
        for out in (None, tmp_path / "mine"):
            reproduction.reproduce(target, quick=quick, out=out, engine=FakeSimulation)
    names = {"reproduce-abc-fig2", "reproduce-abc-fig2-quick", "reproduce-abc-fig4"}
    for place in (tmp_path / "work/results", tmp_path / "mine"):
        assert {path.name for path in place.iterdir()} == names
        assert all((path / "RESULTS.md").is_file() for path in place.iterdir())
    assert sorted(papers.iterdir()) == before


def test_what_a_hurry_leaves_out_is_told(tmp_path):
    reproduction.reproduce("conex/functions", quick=True, out=tmp_path)
    page = (tmp_path / "reproduce-conex-functions-quick/RESULTS.md").read_text(encoding="utf-8")
    assert "without `sensitivity` and `worded` (`quick_without` in study.toml)" in page


def test_only_the_word_report_writes_the_papers_own_page(papers, tmp_path, monkeypatch):
    few = {"fig2", "fig4"}
    real = reproduction.load_study

    def small(name, **how):
        paper = real(name, **how)
        kept = {key: one for key, one in paper.experiments.items() if key in few}
        return replace(paper, experiments=kept, sensitivity=None)

    monkeypatch.setattr(reproduction, "load_study", small)
    monkeypatch.setattr(reproduction, "read_explanations", lambda *_: [])
    reproduction.reproduce("abc", engine=FakeSimulation)
    assert (tmp_path / "work/results/reproduce-abc/RESULTS.md").is_file()
    assert not (papers / "RESULTS.md").exists()
    reproduction.reproduce("abc", report=True, engine=FakeSimulation)
    page = (papers / "RESULTS.md").read_text(encoding="utf-8")
    assert (papers / "figures/fig2.svg").is_file()
    # What a machine needed for it would change the page whenever it is written anew.
    monkeypatch.setattr(reproduction, "cpu_seconds", lambda: 12345.0)
    reproduction.reproduce("abc", report=True, engine=FakeSimulation)
    assert (papers / "RESULTS.md").read_text(encoding="utf-8") == page
    assert "CPU" not in page.partition("## Summary")[0]
    for more in ({"quick": True}, {"out": tmp_path / "mine"}):
        with pytest.raises(reproduction.ReproductionError, match="report goes without"):
            reproduction.reproduce("abc", report=True, engine=FakeSimulation, **more)
    with pytest.raises(reproduction.ReproductionError, match="report goes without"):
        reproduction.reproduce("abc/fig2", report=True, engine=FakeSimulation)


def test_a_place_that_cannot_be_written_is_told_before_anything_runs(papers, tmp_path):
    class Never(FakeSimulation):
        def run(self, seed):
            raise AssertionError(seed)

    (tmp_path / "file").write_text("")
    with pytest.raises(tidegate.ResultError, match="is not a folder"):
        reproduction.reproduce("abc/table2", quick=True, out=tmp_path / "file", engine=Never)


def test_the_command_prints_the_papers_table_beside_ours(tidegate_command):
    done = tidegate_command("reproduce", "abc/table2", "--quick")
    assert done.returncode == 0, done.stderr
    rows = [line.split() for line in done.stdout.splitlines() if "throughput_ratio_T_R" in line]
    assert len(rows) == 24
    assert rows[0][:6] == ["5", "1", "10", "0", "throughput_ratio_T_R", "9.8"]
    for row in rows:
        paper, ours, word = float(row[5]), float(row[6]), row[-1]
        near = abs(ours - paper) <= max(0.1 * paper, 0.1) + 0.006
        assert word in {"within", "out", "explained"}
        assert near or word != "within", row
    within = sum(row[-1] == "within" for row in rows)
    assert f"{within} of 24" in done.stdout
    assert "The recommended gamma = 3 keeps T_R at 1.37" in done.stdout
    folder = "results/reproduce-abc-table2-quick"
    assert f"wrote {folder}/RESULTS.md and figures" in done.stderr
    assert re.search(r"224 runs, .* CPU seconds", done.stderr)
    page = (tidegate_command.folder / folder / "RESULTS.md").read_text(encoding="utf-8")
    for row in rows:
        assert f"| {row[6]} ± " in page, "the terminal and the page tell the same"
    named = tidegate_command("reproduce", "abc/fig2", "--out", "mine", "-q")
    assert (named.returncode, named.stderr) == (0, "")
    assert (tidegate_command.folder / "mine/reproduce-abc-fig2/RESULTS.md").is_file()
