"""The league's situations on a real kernel, with a stand-in for the program that needs root."""

import pytest

from tidegate.errors import MissingError, UsageError
from tidegate.studies.league.play import Order, play

SCENARIO = """\
version = 1
replications = 3
warm_up = "1 s"
duration = "2 s"
sample_interval = "off"

[bottleneck]
rate = "10 Mb/s"

[users.first]
flows = 3

[users.second]
"""


@pytest.fixture
def folder(tmp_path, stand_in):
    league = tmp_path / "league"
    (league / "situations").mkdir(parents=True)
    (tmp_path / "docs").mkdir()
    (league / "situations/linux.toml").write_text(SCENARIO)
    (league / "situations.toml").write_text(
        '[linux]\ntitle = "Linux"\nratio = ["first", "second"]\nlab = true\n'
    )
    (league / "mechanisms.toml").write_text('[none]\ntitle = "none"\nwhy = "as it is"\n')
    (league / "findings.toml").write_text("")
    (league / "page.md").write_text("<!-- lab -->\n<!-- numbers -->\n")
    return league


def test_a_run_in_which_the_machine_was_late_is_kept_and_does_not_count(folder, monkeypatch):
    monkeypatch.setenv("TIDEGATE_STAND_IN", "late=2")
    played = play(Order(lab=True, report=True), folder=folder)
    runs = played.scores.standings.runs("linux", "none")
    assert [run["valid"] for run in runs] == [True, False, True]
    assert played.scores.of("ratio", "linux", "none").runs == 2
    page = (folder.parent / "docs/league.md").read_text()
    assert "3 runs, 1 of them invalid and left out" in page
    # Real runs are no part of means over situations.
    assert played.scores.of("jain", "mean", "none").runs == 0


def test_without_the_lab_the_page_is_written_from_what_was_kept(folder, monkeypatch):
    play(Order(lab=True, report=True), folder=folder)
    monkeypatch.setenv("TIDEGATE_LAB", "/nowhere")
    with pytest.raises(MissingError):
        play(Order(lab=True, report=True), folder=folder)
    played = play(Order(report=True), folder=folder)
    assert played.scores.of("ratio", "linux", "none").runs == 3
    assert "other settings" not in (folder.parent / "docs/league.md").read_text()
    (folder / "situations/linux.toml").write_text(SCENARIO.replace("flows = 3", "flows = 4"))
    play(Order(report=True), folder=folder)
    page = (folder.parent / "docs/league.md").read_text()
    assert "Measured with other settings: none." in page
    with pytest.raises(UsageError, match="--lab"):
        play(Order(situations=("linux",)), folder=folder)


def test_the_command_ends_with_77_where_the_lab_lacks_something(lab_command):
    done = lab_command("league", "--lab", "-s", "cubic-and-bbr", how="missing")
    assert done.returncode == 77
    assert "root" in done.stderr
