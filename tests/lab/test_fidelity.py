"""The comparison of simulator and Linux, with a stand-in for the program that needs root."""

import csv
import json
import shutil
import tomllib
from collections import Counter

import pytest
from support import ROOT

from tidegate.scenarios.reading import parse
from tidegate.studies.book import Book, Entry
from tidegate.studies.fidelity.__main__ import main
from tidegate.studies.fidelity.cases import LINUX, SIMULATED, Case, Record, record_of, virtual_side
from tidegate.studies.fidelity.report import count_line
from tidegate.studies.fidelity.scenarios import cases
from tidegate.studies.fidelity.verdicts import agreements, agrees

SCENARIO = """\
version = 1
replications = 3
warm_up = "1 s"
duration = "2 s"
sample_interval = "off"

[bottleneck]
rate = "10 Mb/s"

[users.heavy]
flows = 3

[users.light]
"""


@pytest.fixture
def checkout(tmp_path, stand_in):
    (tmp_path / "studies/fidelity/held-out").mkdir(parents=True)
    for template in ("page.md", "held-out/page.md"):
        shutil.copy(ROOT / "studies/fidelity" / template, tmp_path / "studies/fidelity" / template)
    for name in ("01-small", "02-other"):
        (tmp_path / f"studies/fidelity/{name}.toml").write_text(SCENARIO)
    return tmp_path


def run(root, *arguments):
    return main([*arguments, "--root", str(root)])


def test_both_sides_are_measured_kept_and_written_to_the_page(checkout, monkeypatch):
    # The stand-in simulates with the same seeds, so both sides agree but for the invalid run.
    monkeypatch.setenv("TIDEGATE_STAND_IN", "late=2")
    assert run(checkout, "fidelity", "--jobs", "2") == 0
    kept = json.loads((checkout / "studies/fidelity/results/01-small.json").read_text())
    assert [run["valid"] for run in kept[LINUX]["runs"]] == [True, False, True]
    assert kept[SIMULATED]["runs"][0]["ratio"] == kept[LINUX]["runs"][0]["ratio"]
    page = (checkout / "docs/fidelity.md").read_text()
    assert "[01-small]" in page
    assert "2 of 6 runs on Linux are invalid" in page
    assert "seed 2: forwarder late" in page
    assert (checkout / "docs/images/fidelity.png").is_file()


def test_one_case_is_measured_again_and_the_rest_stays(checkout):
    assert run(checkout, "fidelity") == 0
    other = checkout / "studies/fidelity/results/02-other.json"
    before = other.read_bytes()
    (checkout / "studies/fidelity/01-small.toml").write_text(
        SCENARIO.replace("flows = 3", "flows = 4")
    )
    assert run(checkout, "fidelity", "--report") == 0
    assert "older version of the scenario: 01-small" in (checkout / "docs/fidelity.md").read_text()
    assert run(checkout, "fidelity", "--resume") == 0
    assert "older version" not in (checkout / "docs/fidelity.md").read_text()
    assert other.read_bytes() == before


def test_without_the_lab_the_simulator_alone_runs(checkout, monkeypatch):
    monkeypatch.setenv("TIDEGATE_LAB", "/nowhere")
    assert run(checkout, "fidelity") == 77
    assert run(checkout, "fidelity", "--side", "simulated", "--only", "01-small") == 0
    assert "Not measured yet: 01-small, 02-other" in (checkout / "docs/fidelity.md").read_text()
    assert run(checkout, "fidelity", "--only", "absent") == 2


def test_a_quick_look_keeps_nothing(checkout, capsys):
    assert run(checkout, "fidelity", "--quick", "--only", "01-small") == 0
    assert "01-small" in capsys.readouterr().err
    assert not (checkout / "studies/fidelity/results").exists()


def record(simulated, linux):
    case = Case("x", parse(SCENARIO), "x", "")
    sides = {
        side: Entry("", [{"queue_packets": q, "ratio": r, "valid": v} for q, r, v in values])
        for side, values in ((SIMULATED, simulated), (LINUX, linux))
    }
    return Record(case, sides)


def test_ten_per_cent_in_ratio_and_queue_is_the_verdict():
    steady = [(20.0, 2.0, True), (20.2, 2.0, True)]
    near = record(steady, [(21.0, 2.1, True), (21.2, 2.1, True)])
    assert agrees(agreements(near))
    far = record(steady, [(25.0, 2.1, True), (25.2, 2.1, True)])
    found = agreements(far)
    assert not agrees(found)
    assert found["queue_packets"].differs
    assert found["queue_packets"].deviation == pytest.approx(20.1 / 25.1 - 1)


def test_a_number_is_close_within_five_per_cent_or_where_chance_may_explain_it():
    steady = [(20.0, 2.0, True), (20.2, 2.0, True)]
    found = agreements(record(steady, [(21.5, 2.0, True), (21.7, 2.0, True)]))
    assert (found["ratio"].close, found["queue_packets"].close) == (True, False)
    assert found["queue_packets"].within
    found = agreements(record(steady, [(18.0, 2.4, True), (30.0, 2.4, True)]))
    assert (found["ratio"].close, found["queue_packets"].close) == (False, True)
    assert not found["queue_packets"].within
    cells = record(steady, [(21.5, 2.0, True), (21.7, 2.0, True)])
    line = count_line([cells, cells])
    assert "2 of 4 numbers (50 %) are within 5 %" in line
    assert "4 are within 10 %" in line


def test_the_second_set_has_a_table_of_its_own_and_counts_with_the_first(checkout):
    folder = checkout / "studies/fidelity/held-out"
    (folder / "01-third.toml").write_text(SCENARIO)
    assert run(checkout, "fidelity", "--set", "first") == 0
    assert run(checkout, "fidelity", "--side", "simulated", "--set", "held-out") == 0
    book = Book(checkout / "studies/fidelity/results")
    (case,) = (each for each in cases(checkout) if each.held_out)
    kept = record_of(case, book)
    assert len(kept.runs(SIMULATED)) == 15
    # As if the kernel had measured the same.
    kept.sides[LINUX] = virtual_side(case, "6.12.0", kept.runs(SIMULATED))
    book.write(kept.case.name, kept.sides)
    assert run(checkout, "fidelity", "--report") == 0
    page = (checkout / "docs/fidelity.md").read_text()
    first, second = page.split("## A second set, held out")
    assert "[01-small]" in first
    assert "held-out/01" not in first
    assert "[held-out/01-third](../studies/fidelity/held-out/01-third.toml)" in second
    assert "version 6.12.0" in second
    assert "None of the 6 runs on Linux was invalid" in second


def test_without_the_kernel_in_virtual_time_the_remedy_is_named(checkout, monkeypatch, capsys):
    (checkout / "studies/fidelity/held-out/01-third.toml").write_text(SCENARIO)
    monkeypatch.setenv("TIDEGATE_UML", str(checkout / "nowhere"))
    assert run(checkout, "fidelity", "--set", "held-out") == 77
    assert "build.sh" in capsys.readouterr().err


def test_an_invalid_run_does_not_count():
    found = agreements(record([(20.0, 2.0, True)] * 2, [(20.0, 2.0, True), (90.0, 9.0, False)]))
    assert found["queue_packets"].linux.runs == 1
    assert found["queue_packets"].deviation == 0.0


def test_explanations_stand_beside_the_cells_that_they_explain(checkout, capsys):
    assert run(checkout, "fidelity") == 0
    book = Book(checkout / "studies/fidelity/results")
    for case in cases(checkout):
        kept = record_of(case, book)
        # As if Linux had measured the same, but for one queue: nothing is left to chance.
        one = kept.sides[LINUX].runs[0]
        same = [{**one, **each} for each in kept.runs(SIMULATED)]
        twice = 2 if case.name == "01-small" else 1
        kept.sides[LINUX].runs = [
            {**each, "queue_packets": twice * each["queue_packets"]} for each in same
        ]
        book.write(kept.case.name, kept.sides)
    assert run(checkout, "fidelity", "--report") == 0
    page = checkout / "docs/fidelity.md"
    assert "Not explained yet: 01-small: mean queue" in page.read_text()
    written = checkout / "studies/fidelity/explanations.toml"
    for differs in ("false", "true"):
        written.write_text(
            '[[explanation]]\nid = "twice"\ntext = "Doubled."\nderived_in = "tests/x.py::y"\n'
            f'cells = [{{ case = "01-small", differs = {differs} }}]\n'
        )
        assert run(checkout, "fidelity", "--report") == 0
        explained = "*01-small: mean queue.* Doubled. Derived in `tests/x.py::y`."
        assert (explained in page.read_text()) == (differs == "true")
        assert ("Not explained yet" in page.read_text()) == (differs == "false")
        idle = "twice explains nothing any more" in capsys.readouterr().err
        assert idle == (differs == "false")


@pytest.mark.parametrize("study", ["abc", "mixes", "cpq"])
def test_the_studies_of_the_repository_write_their_pages(tmp_path, stand_in, study):
    (tmp_path / "studies").symlink_to(ROOT / "studies")
    # Only what is there already: this does not touch the results in the repository.
    assert run(tmp_path, study, "--report") == 0
    assert (tmp_path / f"docs/lab-{study}.md").is_file()


def test_enough_scenarios_are_run_long_enough_and_on_both_sides():
    found = [case for case in cases(ROOT) if not case.held_out]
    assert len(found) >= 14
    assert all(case.can_be_simulated for case in found)
    assert all(case.scenario.duration_s >= 30 for case in found)


def test_every_policer_of_the_paper_is_measured_with_red_beside_it():
    from tidegate.studies.fidelity import cpq

    found = cpq.cases(ROOT)
    kinds = {"none": 1, "icp": 3, "afcp": 2, "aicp-a": 1, "aicp-b": 1}
    written = [tomllib.loads(case.scenario.to_toml()) for case in found]
    assert Counter(each["bottleneck"]["differentiation"]["kind"] for each in written) == kinds
    with (ROOT / cpq.EXPECTED).open(newline="") as file:
        paper = {row["mechanism"] for row in csv.DictReader(file)}
    assert {case.title for case in found} == paper - {"DRR"}
    assert all(case.can_be_simulated for case in found)
    assert all(case.scenario.duration_s >= 60 for case in found)
    assert len({case.hashes[LINUX] for case in found}) == len(found)


@pytest.fixture
def cpq_checkout(tmp_path, stand_in):
    """Congestion policing queues with runs that a test can wait for."""
    folder = tmp_path / "studies/fidelity/cpq"
    folder.mkdir(parents=True)
    text = (ROOT / "studies/fidelity/cpq/scenario.toml").read_text()
    for long, short in (("240 s", "1 s"), ("count = 6", "count = 2"), ("60 s", "2 s")):
        assert long in text
        text = text.replace(f'"{long}"', f'"{short}"').replace(long, short)
    (folder / "scenario.toml").write_text(text.replace("replications = 5", "replications = 3"))
    for name in ("page.md", "cases.toml"):
        shutil.copy(ROOT / "studies/fidelity/cpq" / name, folder / name)
    (tmp_path / "studies/cpq").symlink_to(ROOT / "studies/cpq")
    return tmp_path


def test_policers_stand_on_their_page_with_what_each_part_of_a_run_gave(cpq_checkout, monkeypatch):
    monkeypatch.setenv("TIDEGATE_STAND_IN", "late=2")
    assert run(cpq_checkout, "cpq", "--only", "red", "--only", "afcp-a") == 0
    kept = json.loads((cpq_checkout / "studies/fidelity/cpq/results/afcp-a.json").read_text())
    (first, late, _), (same, *_) = kept[LINUX]["runs"], kept[SIMULATED]["runs"]
    assert (first["valid"], late["valid"]) == (True, False)
    parts = first["throughput_bps.heavy.by_interval"]
    assert len(parts) == 2
    assert sum(parts) / 2 == pytest.approx(first["throughput_bps.heavy"], rel=1e-4)
    # The stand-in simulates: what comes from the lab is read as what comes from the engine.
    assert {name: first[name] for name in same} == same
    page = (cpq_checkout / "docs/lab-cpq.md").read_text()
    assert all(f"| {name} |" in page for name in ("RED", "ICP-slope", "AFCP-b", "AICP-b"))
    assert "2 of 6 runs on Linux are invalid" in page
    assert "within 10 % of Linux" in page
    assert (cpq_checkout / "docs/images/lab-cpq.png").is_file()


def test_a_policer_that_is_off_is_said_to_be(cpq_checkout):
    from tidegate.studies.fidelity import cpq

    assert run(cpq_checkout, "cpq", "--only", "red") == 0
    assert run(cpq_checkout, "cpq", "--quick", "--only", "icp-step") == 0
    (case,) = (case for case in cpq.cases(cpq_checkout) if case.name == "red")
    book = Book(cpq_checkout / "studies/fidelity/cpq/results")
    kept = record_of(case, book)
    (row,) = (line for line in cpq.table([kept]).splitlines() if line.startswith("| RED"))
    assert row.endswith("| within 10 % |")
    for each in kept.sides[LINUX].runs:
        each["queue_packets"] *= 2
    book.write(kept.case.name, kept.sides)
    (row,) = (line for line in cpq.table([kept]).splitlines() if line.startswith("| RED"))
    assert row.endswith("| beyond 10 %: mean queue |")
    assert run(cpq_checkout, "cpq", "--report") == 0
    page = (cpq_checkout / "docs/lab-cpq.md").read_text()
    assert "Not explained yet: red: mean queue." in page
    assert "Not measured yet: icp-step" in page
