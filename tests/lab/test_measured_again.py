"""Tables of other sides, measured anew: with stand-ins for the lab's program and for ns-2."""

import csv
import json
import shutil
import sys

import pytest

from tidegate.data import data_folder
from tidegate.errors import MissingError, ResultError, UsageError
from tidegate.laboratory import running
from tidegate.scenarios.reading import load_scenario
from tidegate.studies import load as loading
from tidegate.studies import reproduce as reproduction
from tidegate.studies.load import load_study
from tidegate.studies.runner import Runner, native_engine
from tidegate.studies.sides import ns2
from tidegate.studies.sides.measured import measured

SCENARIO = """\
version = 1
replications = 3
warm_up = "1 s"
intervals = { count = 2, length = "2 s" }
sample_interval = "off"

[bottleneck]
rate = "10 Mb/s"

[users.heavy]
flows = 3

[users.light]
"""
STUDY = """\
title = "Small"
experiments = ["one"]
replications = 3
quick_replications = 1
baseline = false
[names]
part = 1
[setups.whole]
base = "{case}.toml"
[setups.parts]
base = "{case}.toml"
names = { part = "{part}" }
[factors.case]
[factors.part]
"""
EXPERIMENT = """\
title = "One"
setup = "whole"
[series.simulated]
factors = { case = ["small"] }
[series.linux]
side = "lab"
measured = "measured/lab.csv"
factors = { case = ["small"] }
[series.parts]
setup = "parts"
side = "lab"
measured = "measured/parts.csv"
factors = { case = ["small"], part = [1, 2] }
[beside]
ours = "simulated"
series = "linux"
name = "Linux"
row = { case = "scenario" }
[beside.metrics]
ratio = { name = "ratio" }
"""


@pytest.fixture
def small(tmp_path, monkeypatch, stand_in):
    """A study of one scenario with the reads of fidelity, of which nothing was measured yet."""
    folder = tmp_path / "studies/small"
    (folder / "experiments").mkdir(parents=True)
    (folder / "measured").mkdir()
    own = (data_folder("studies") / "fidelity/study.toml").read_text(encoding="utf-8")
    (folder / "study.toml").write_text(STUDY + own[own.index("[reads]") :])
    (folder / "experiments/one.toml").write_text(EXPERIMENT)
    (folder / "claims.toml").write_text("claim = []\n")
    (folder / "small.toml").write_text(SCENARIO)
    monkeypatch.setattr(loading, "data_folder", lambda _: tmp_path / "studies")
    return folder


def test_the_lab_is_read_as_the_simulator_is_and_invalid_runs_do_not_count(small, monkeypatch):
    monkeypatch.setenv("TIDEGATE_STAND_IN", "late=2")
    tables = reproduction.measure("small", "lab")
    assert [table.name for table in tables] == ["lab.csv", "parts.csv"]
    found = measured(small / "measured/lab.csv", {"case": "small"})
    study = load_study("small")
    (setting,) = study.experiments["one"].series["simulated"].settings
    runs = Runner(native_engine, study.measures).runs(setting, 3)
    # The stand-in simulates with the same seeds; the run with seed 2 is late.
    for name, ours in study.measures.of([runs[0], runs[2]]).items():
        if ours.runs and name != "timeouts_per_flow":
            assert found[name].mean == pytest.approx(ours.mean), name
            assert found[name].runs == 2
    assert found["invalid_runs"].mean == 1
    assert found["lateness_p99_s_most"].mean == 9e-05
    assert {row["kernel"] for row in rows(small / "measured/lab.csv")} == {"6.0.0-stand-in"}
    parts = [
        measured(small / "measured/parts.csv", {"case": "small", "part": part}) for part in (1, 2)
    ]
    halves = [one["part_first_mbps"].mean for one in parts]
    assert sum(halves) / 2 * 1e6 == pytest.approx(found["first_bps"].mean, rel=1e-4)
    assert halves[0] != halves[1]


def test_a_series_of_a_stock_kernel_names_it(small, monkeypatch):
    asked = []

    real = running.lab_each

    def lab_each(scenarios, *, kernel, **how):
        asked.append(kernel)
        return real(scenarios, **how)

    lab, stock = (
        f'side = "{side}"\nmeasured = "measured/{name}'
        for side, name in (("lab", "lab"), ("kernel", "stock"))
    )
    one = EXPERIMENT.replace(lab, f'kernel = "6.12"\n{stock}')
    (small / "experiments/one.toml").write_text(one)
    monkeypatch.setattr("tidegate.laboratory.running.lab_each", lab_each)
    (table,) = reproduction.measure("small", "kernel")
    assert (table.name, asked) == ("stock.csv", ["6.12"])
    assert measured(table, {"case": "small"})["ratio"].runs == 3


def rows(table):
    with table.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def test_what_was_measured_before_an_interruption_is_kept_and_missing_goes_on(small, monkeypatch):
    (small / "other.toml").write_text(SCENARIO.replace("flows = 3", "flows = 2"))
    two = EXPERIMENT.replace('case = ["small"] }', 'case = ["small", "other"] }')
    (small / "experiments/one.toml").write_text(two)
    real = running.lab_each

    def interrupted(scenarios, **how):
        yield next(real(scenarios, **how))
        raise KeyboardInterrupt

    monkeypatch.setattr("tidegate.laboratory.running.lab_each", interrupted)
    with pytest.raises(KeyboardInterrupt):
        reproduction.measure("small", "lab", jobs=1)
    table = small / "measured/lab.csv"
    before = rows(table)
    assert {row["case"] for row in before} == {"small"}
    asked = []

    def the_rest(scenarios, **how):
        asked.extend(scenarios.values())
        return real(scenarios, **how)

    monkeypatch.setattr("tidegate.laboratory.running.lab_each", the_rest)
    reproduction.measure("small", "lab", jobs=1, missing=True)
    assert [one.groups for one in asked] == [["heavy", "light"]]
    after = rows(table)
    assert after[: len(before)] == before
    assert list(dict.fromkeys(row["case"] for row in after)) == ["small", "other"]
    reproduction.measure("small", "lab", missing=True)
    assert (len(asked), rows(table)) == (1, after)


def test_a_point_that_is_no_longer_one_leaves_the_table(small):
    table, _ = reproduction.measure("small", "lab")
    kept = table.read_text()
    line = kept.splitlines()[1].replace("small", "gone")
    table.write_text(f"{kept}{line}\n")
    reproduction.measure("small", "lab")
    assert {row["case"] for row in rows(table)} == {"small"}


def test_without_a_machine_the_remedy_is_named_and_no_table_is_written(small, monkeypatch):
    monkeypatch.setenv("TIDEGATE_LAB", "/nowhere")
    with pytest.raises(MissingError):
        reproduction.measure("small", "lab")
    monkeypatch.setenv("PATH", str(small))
    with pytest.raises(MissingError, match="apt-get install ns2"):
        list(ns2.measure([], None, jobs=1, progress=False))
    assert not list((small / "measured").iterdir())


@pytest.mark.parametrize(
    ("side", "error"), [("uml", "there are lab, kernel, ns2"), ("ns2", "nothing")]
)
def test_only_what_is_measured_there_can_be_measured_again(small, side, error):
    with pytest.raises(UsageError, match=error):
        reproduction.measure("small", side)


def test_what_was_not_measured_is_an_error_of_the_run(small):
    with pytest.raises(reproduction.ReproductionError, match="No such file"):
        reproduction.reproduce("small", quick=True, write=False)


def test_data_of_an_installed_package_are_not_written(small, monkeypatch):
    monkeypatch.setattr("tidegate.data.DATA", small.parent)
    with pytest.raises(ResultError):
        reproduction.measure("small", "lab")


REPORTED = {
    "before": {"flows": [[0, 10, 10, 0, 0, -1], [1, 20, 21, 1, 0, -1]],
               "arrivals": 40, "departures": 30, "drops": 1, "marks": 0, "waiting_packet_s": 5.0},
    "after": {"flows": [[0, 110, 120, 10, 2, -1], [1, 70, 73, 3, 1, 4.5]],
              "arrivals": 240, "departures": 190, "drops": 11, "marks": 0,
              "waiting_packet_s": 45.0},
}  # fmt: skip


def plan(*changes):
    base = (
        'version = 1\nprofile = "classic"\nwarm_up = "1 s"\nduration = "20 s"\n'
        'bottleneck = { rate = "10 Mb/s", delay = "5 ms", buffer = "50 packets" }\n'
        'users.greedy = {}\nusers.other = { traffic = { kind = "transfer", size = "100 kB" } }\n'
    )
    return load_scenario(base, set=dict(changes)).plan()


def test_ns2_is_told_the_scenario():
    reported = ns2.variables(plan())
    assert "set rate_bps 10000000\n" in reported
    assert "set buffer_packets 50\n" in reported
    assert "set red {}\n" in reported
    assert "set end_s 21.0\n" in reported
    groups = reported[reported.index("set groups {") :]
    assert groups.count("Sack1") == 2
    # 100 kB in segments of 1460 B.
    assert " 69 0}" in groups
    red = {
        "kind": "red", "min_threshold": "10 packets", "max_threshold": "30 packets",
        "max_probability": 0.1, "weight": 0.002,
    }  # fmt: skip
    reported = ns2.variables(plan(("bottleneck.aqm", red)))
    assert "set red {10 30 0.1 0.002}\n" in reported
    assert "set buffer_packets 49\n" in reported


def test_ns2s_counters_become_metrics():
    found = ns2.numbers(plan(), REPORTED)
    assert found == {
        "waiting_packets": 2.0,
        "loss_percent": pytest.approx(100 * 10 / 200),
        "sent_again_percent": pytest.approx(100 * (10 + 2) / (110 + 52)),
        "goodput_mbps": pytest.approx(150 * 12000 / 20 / 1e6),
        "timeouts_per_flow": 1.5,
        "completion_s": 4.5,
    }
    found = ns2.numbers(plan(("users.other.traffic.kind", "greedy"), ("tcp.ecn", True)), REPORTED)
    assert found["goodput_ratio"] == pytest.approx(2.0)
    assert "timeouts_per_flow" not in found
    assert found["marks_percent"] == 0.0


def test_every_seed_of_ns2_counts_and_the_range_is_kept(tmp_path, monkeypatch):
    program = tmp_path / "ns"
    text = json.dumps(REPORTED)
    program.write_text(
        f'#!/bin/sh\nexec {sys.executable} -c \'import sys; print("agent"); print(sys.argv[1]'
        f".replace('\"'\"'\"drops\": 11'\"'\"', '\"'\"'\"drops\": 1'\"'\"' + sys.argv[4]))' "
        f"'{text}' \"$@\"\n"
    )
    program.chmod(0o755)
    monkeypatch.setattr(shutil, "which", lambda _: str(program))
    (setting, *_) = load_study("fidelity").experiments["ns2"].series["ns2"].settings
    fewer = type(setting)(setting.levels, (*setting.overrides, ("replications", "3")), setting.base)
    ((place, found, about),) = ns2.measure([fewer], None, jobs=2, progress=False)
    assert (place, about) == (0, {})
    assert found["loss_percent"].runs == 3
    assert (found["loss_percent_least"].mean, found["loss_percent_most"].mean) == (5.0, 6.0)
