"""The arithmetic of the benchmark: what it subtracts, what it divides by what."""

import csv
import dataclasses
import importlib
import sys
import tomllib
from pathlib import Path

import pytest

from tidegate import load_scenario

MODULES = ("child", "ns2", "others", "peers", "run", "table")

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def bench():
    """Modules of bench/, which is a folder of programs and no package."""
    sys.path.insert(0, str(ROOT / "bench"))
    try:
        yield {name: importlib.import_module(name) for name in MODULES}
    finally:
        sys.path.remove(str(ROOT / "bench"))


@pytest.fixture
def row(bench):
    """1000 packets in both; 0.2 s of ours against 0.9 s of theirs, once 0.1 s are off."""
    child, table = bench["child"], bench["table"]

    def measured(*cpu_s):
        measurement = table.Measurement(packets=1000)
        for one in cpu_s:
            measurement.add(child.Outcome(one, peak_rss_mib=one, result={}), setup_cpu_s=0.1)
        return measurement

    work = table.Work(simulated_s=100.0, flows=64, hops=4000, events=5000)
    ours, beside, ns2 = measured(0.3, 0.2, 0.6), measured(0.2, 0.2, 0.3), measured(1.0, 1.9, 0.6)
    return table.Row("S1", work, ours, beside, ns2)


def test_setup_is_taken_off_the_net_figures_only(row):
    assert row.ours.packets_per_cpu_s == pytest.approx(1000 / 0.2)
    assert row.ours.packets_per_cpu_s_gross == pytest.approx(1000 / 0.3)
    assert row.ns_per_hop == pytest.approx(0.2e9 / 4000)


def test_ratio_is_that_of_the_medians_and_its_range_that_of_neighbours(row):
    assert row.ratio == pytest.approx(0.9 / 0.2)
    assert row.ratio_range == pytest.approx((0.5 / 0.5, 1.8 / 0.1))


def test_rows_are_compared_with_the_runs_of_another_beside_them(bench, row):
    assert row.relative == pytest.approx(0.1 / 0.2)
    assert row.to_json([row])["relative_to"] == "S1"
    through = dataclasses.replace(row, scenario="ConEx-S2", relative_to="S2")
    s2 = dataclasses.replace(row, scenario="S2")
    assert through.relative_to_s1([s2, through]) == pytest.approx(0.5 * 0.5)
    assert through.relative_to_s1([through]) is None
    cases = bench["run"].CASES
    assert cases["ConEx-S2"].relative_to == "S2"
    assert all(case.relative_to in cases for case in cases.values())


def test_memory_is_shared_among_the_flows(row):
    assert row.bytes_per_flow == pytest.approx(0.6 * 2**20 / 64)


def test_every_scenario_of_the_benchmark_is_a_valid_file(bench):
    for case in bench["run"].CASES.values():
        settings = (override.split("=", 1) for override in case.overrides)
        values = {key: tomllib.loads(f"value = {text}")["value"] for key, text in settings}
        assert load_scenario(ROOT / case.file, set=values).name is not None


def test_json_has_null_where_ns2_is_missing(bench, row):
    alone = dataclasses.replace(row, ns2=None).to_json([row])
    assert alone["ns2_packets_per_cpu_s"] is None
    assert alone["ratio"] is None
    assert alone.keys() == row.to_json([row]).keys()
    assert alone["peak_rss_mib"] == 0.6
    assert alone["setup_cpu_s"] == [0.1, 0.1, 0.1]
    assert alone["setup_cpu_median_s"] == 0.1


def test_table_has_a_line_for_each_simulator(bench, row):
    lines = bench["table"].render([row]).splitlines()
    assert [line.split()[:2] for line in lines[1:]] == [["S1", "tidegate"], ["ns-2", "1,000"]]
    assert "4.50" in lines[1]


def test_ns2_summary_compares_users_not_flows(bench):
    """Two flows of the heavy user with 30 packets each, two light users with 20 each: 3 to 1."""
    queue = {"arrivals": 200, "departures": 190, "drops": 10, "marks": 4}
    got = bench["ns2"].summary(
        {
            "scenario": "S1",
            "simulated_s": 10,
            "packet_bytes": 1500,
            "flows": [[0, 30], [0, 30], [1, 20], [2, 20]],
            "queues": [{**queue, "mean_waiting_packets": 44.0}],
        }
    )
    assert got["ratio"] == pytest.approx(3.0)
    assert got["goodput_mbps"] == pytest.approx(100 * 1500 * 8 / 10 / 1e6)
    assert got["throughput_mbps"] == pytest.approx(190 * 1500 * 8 / 10 / 1e6)
    assert got["loss_percent"] == pytest.approx(5.0)
    assert got["marked_percent"] == pytest.approx(2.0)


def test_confidence_interval_uses_students_t(bench):
    """The t quantile for 19 degrees of freedom is 2.0930, for 5 it is 2.5706."""
    for count, quantile in ((20, 2.0930), (6, 2.5706)):
        values = [float(i) for i in range(count)]
        sd = (count * (count + 1) / 12) ** 0.5
        want = quantile * sd / count**0.5
        assert bench["peers"].half_width_95(values) == pytest.approx(want, rel=2e-3)


def test_table_of_peers_is_complete():
    lines = (ROOT / "tests/data/peers.csv").read_text().splitlines()
    rows = list(csv.DictReader(line for line in lines if not line.startswith("#")))
    for scenario in ("S1", "S2-ecn", "S2-drop"):
        metrics = {row["metric"] for row in rows if row["scenario"] == scenario}
        assert metrics >= {"ratio", "goodput_mbps", "mean_queue_packets", "loss_percent"}
        assert any(int(row["runs"]) >= 20 for row in rows if row["scenario"] == scenario)


def test_another_program_has_a_line_below_with_how_many_times_as_fast_ours_is(bench, row):
    table = bench["table"]
    other = table.Measurement(packets=1000)
    other.add(bench["child"].Outcome(0.7, peak_rss_mib=3.0, result={}), setup_cpu_s=0.1)
    *_, line = table.lines_of(dataclasses.replace(row, others={"htsim": other}))
    assert line[1] == "htsim"
    assert dict(zip(table.TITLES, line, strict=True))["ratio"] == "3.00"


def test_what_lacks_for_a_program_beside_s1_is_said(bench, monkeypatch):
    said = []
    monkeypatch.setattr(bench["others"].shutil, "which", lambda _: None)
    assert list(bench["others"].others(None, Path("s1.toml"), said.append)) == []
    assert "--htsim DIR" in said[0]
    assert "node" in said[1]
