"""The package from Python: what goes in, what comes out."""

import dataclasses
import math
import multiprocessing
import pickle
import subprocess
import sys
import tomllib
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import ROOT, SMALL, SWEEP

import tidegate
from tidegate.results.batch import Batch
from tidegate.results.columns import unit_of
from tidegate.runs import batches
from tidegate.scenarios.reading import content_hash, toml_value


@pytest.fixture(scope="module")
def result():
    return tidegate.simulate(SMALL)


def test_the_package_has_the_version_of_its_engine():
    from tidegate import _native

    assert tidegate.__version__ == _native.version()


THREADS = """
import os, sys
import pyarrow.parquet
import tidegate

before = os.listdir("/proc/self/task")
assert tidegate.load(sys.argv[1]).groups.num_rows
assert tidegate.load_sweep(sys.argv[2]).summary().num_rows
print(*set(os.listdir("/proc/self/task")).difference(before))
"""


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="only Linux lists threads so")
def test_reading_leaves_no_thread_that_runs_when_a_short_script_ends(tmp_path, result):
    result.save(tmp_path / "result")
    tidegate.sweep(SWEEP, out=tmp_path / "sweep", replications=1)
    command = [sys.executable, "-c", THREADS, tmp_path / "result", tmp_path / "sweep"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_a_scenario_is_a_path_a_text_a_dictionary_or_a_scenario(tmp_path, result):
    path = tmp_path / "small.toml"
    path.write_text(SMALL)
    for source in (path, str(path), tomllib.loads(SMALL), tidegate.load_scenario(SMALL)):
        assert tidegate.simulate(source).digests == result.digests


def test_a_file_without_name_goes_by_its_file_name(tmp_path):
    path = tmp_path / "rush-hour.toml"
    path.write_text(SMALL.replace('name = "small"\n', ""))
    assert tidegate.load_scenario(path).name == "rush-hour"


def test_settings_are_python_values(result):
    changed = tidegate.simulate(
        SMALL, set={"users.heavy.flows": np.int64(1), "bottleneck.rate": "5 Mb/s"}
    )
    assert changed.flows.num_rows == 3 * 3
    assert changed.digests != result.digests


def test_every_error_is_in_the_exception():
    with pytest.raises(tidegate.ScenarioError) as caught:
        tidegate.load_scenario(
            {"version": 1, "bottleneck": {"rate": "10 M", "buffer": 5}, "users": {"a": {}}}
        )
    keys = {issue.key for issue in caught.value.issues}
    assert {"bottleneck.rate", "bottleneck.buffer"} <= keys
    assert isinstance(caught.value, tidegate.TidegateError)


def test_tables_are_arrow_with_units(result):
    for name, table in result.tables.items():
        assert isinstance(table, pa.Table)
        assert table.column_names[:2] == ["replication", "seed"], name
        for field in table.schema:
            unit = unit_of(field.name).encode()
            assert (field.metadata or {}).get(b"unit", b"") == unit
    assert result.flows.schema.field("mean_srtt_s").metadata == {b"unit": b"s"}
    assert set(result.flows["group"].to_pylist()) == {"heavy", "light"}
    assert result.run["seed"].to_pylist() == [5, 6, 7]


def test_users_and_groups_add_up_to_the_flows(result):
    total = sum(result.flows["throughput_bps"].to_pylist())
    assert sum(result.users["throughput_bps"].to_pylist()) == pytest.approx(total)
    assert sum(result.groups["total_throughput_bps"].to_pylist()) == pytest.approx(total)
    assert sum(result.groups["share"].to_pylist()) == pytest.approx(3)
    heavy = result.groups.slice(0, 1).to_pylist()[0]
    assert (heavy["users"], heavy["flows"], heavy["ratio_to_first"]) == (1, 4, 1.0)


def test_throughput_at_the_receivers_is_what_left_the_bottleneck(result):
    for replication in range(3):
        links = [row for row in result.links.to_pylist() if row["replication"] == replication]
        (bottleneck,) = [row for row in links if row["name"] == "bottleneck"]
        flows = [row for row in result.flows.to_pylist() if row["replication"] == replication]
        received = sum(row["throughput_bps"] for row in flows) * 2.0
        assert received == pytest.approx(bottleneck["departed_bytes"] * 8, rel=0.01)


def test_a_result_survives_its_folder(tmp_path, result):
    folder = result.save(tmp_path / "kept")
    again = tidegate.load(folder)
    for name, table in result.tables.items():
        assert again.tables[name].equals(table), name
        assert again.tables[name].schema.equals(table.schema, check_metadata=True), name
    assert again.summary().equals(result.summary())
    assert again.scenario.to_toml() == result.scenario.to_toml()
    repeated = tidegate.simulate(folder / "scenario.toml")
    assert repeated.digests == result.digests, "the folder says how to repeat it"


def test_a_comparison_survives_its_folder(tmp_path):
    against = [("bottleneck.differentiation.kind", "none")]
    compared = tidegate.compare(SMALL, against=against, replications=2)
    again = tidegate.load(compared.save(tmp_path / "kept"))
    assert list(again) == list(compared)
    assert again.summary().equals(compared.summary())


@pytest.mark.parametrize("text", ["", "[]", "{", '{"schema_version": 99}'])
def test_a_folder_that_is_none_is_told(tmp_path, text):
    (tmp_path / "manifest.json").write_text(text)
    with pytest.raises(tidegate.ResultError):
        tidegate.load(tmp_path)


def test_a_damaged_table_is_told(tmp_path, result):
    folder = result.save(tmp_path / "kept")
    (folder / "flows.parquet").write_bytes(b"PAR1 and then nothing")
    with pytest.raises(tidegate.ResultError, match="damaged"):
        tidegate.load(folder)


def test_a_table_of_another_version_is_told(tmp_path, result):
    other = dataclasses.replace(result, groups=result.groups.drop_columns(["throughput_bps"]))
    folder = other.save(tmp_path / "kept")
    with pytest.raises(tidegate.ResultError, match="no column 'throughput_bps'"):
        tidegate.load(folder).plot(tmp_path)


def test_summary_is_the_mean_over_replications(result):
    rows = {(r["name"], r["metric"]): r for r in result.summary().to_pylist()}
    by_hand = [r["throughput_bps"] for r in result.groups.to_pylist() if r["group"] == "light"]
    assert rows["light", "throughput_bps"]["mean"] == pytest.approx(np.mean(by_hand))
    spread = np.std(by_hand, ddof=1) / math.sqrt(3) * 4.302653  # Student's t, 2 degrees of freedom
    assert rows["light", "throughput_bps"]["ci95"] == pytest.approx(spread, rel=1e-6)


def test_notebooks_show_a_table(result):
    shown = result._repr_html_()
    assert shown.count("<table>") == 2
    assert "±" in shown
    assert "heavy" in shown


def test_names_cannot_smuggle_markup_into_a_notebook():
    text = SMALL.replace("[users.light]", "[users.'b<i>']")
    try:
        shown = tidegate.simulate(text, replications=1)._repr_html_()
    except tidegate.ScenarioError:
        return  # even better
    assert "<i>" not in shown


def test_plots_work_with_one_run_and_without_series(tmp_path):
    one = tidegate.simulate(SMALL, replications=1).plot(tmp_path / "one")
    assert [path.name for path in one] == [
        "who-got-what.png", "delay.png", "group-heavy.png", "group-light.png",
        "queue-bottleneck.png",
    ]  # fmt: skip
    without = tidegate.simulate(SMALL, set={"sample_interval": "off"}).plot(tmp_path / "none")
    assert [path.name for path in without] == ["who-got-what.png", "delay.png"]


def test_the_same_result_gives_the_same_figure(tmp_path, result):
    first, second = result.plot(tmp_path / "a"), result.plot(tmp_path / "b")
    for a, b in zip(first, second, strict=True):
        assert a.read_bytes() == b.read_bytes()


def test_the_hash_follows_the_content_not_its_dress():
    base = tidegate.load_scenario(SMALL)
    dressed = SMALL.replace('name = "small"', 'description = "other"\n# a remark\nname = "x"')
    dressed = dressed.replace("seed = 5", "seed = 6").replace('"50 packets"', '"50packets"')
    assert content_hash(tidegate.load_scenario(dressed)) == content_hash(base)
    other = tidegate.load_scenario(SMALL, set={"users.heavy.flows": 5})
    assert content_hash(other) != content_hash(base)


def everything(result):
    return {name: table.to_pydict() for name, table in result.tables.items()}


def test_results_travel_between_processes(result, tmp_path):
    again = pickle.loads(pickle.dumps(result))
    assert everything(again) == everything(result)
    assert again.hash == result.hash
    assert again.scenario.to_toml() == result.scenario.to_toml()
    compared = tidegate.compare(SMALL, against={"users.heavy.flows": 1}, replications=1)
    found = pickle.loads(pickle.dumps(compared))
    assert type(found) is tidegate.Comparison
    assert found.summary().equals(compared.summary())
    both = pickle.loads(pickle.dumps(tidegate.compare_results(*compared.values())))
    assert both.table().num_rows
    swept = tidegate.sweep(SMALL, out=tmp_path, replications=1)
    assert pickle.loads(pickle.dumps(swept)).summary().equals(swept.summary())
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        elsewhere = pool.submit(tidegate.simulate, result.scenario).result()
    assert everything(elsewhere) == everything(result)


def test_errors_travel_between_processes():
    with pytest.raises(tidegate.ScenarioError) as caught:
        tidegate.load_scenario("version = 2\n")
    again = pickle.loads(pickle.dumps(caught.value))
    assert again.issues == caught.value.issues


def test_the_package_lists_what_it_has():
    assert dir(tidegate) == sorted(tidegate.__all__)
    for name in tidegate.__all__:
        assert getattr(tidegate, name) is not None
    assert {"sweep", "load", "Result", "reproduce"} <= set(dir(tidegate))


def test_variants_are_named_by_a_dictionary_or_by_pairs():
    key = "bottleneck.differentiation.kind"
    one = tidegate.compare(SMALL, against={key: "none"}, replications=1)
    other = tidegate.compare(SMALL, against=[(key, "none")], replications=1)
    assert one.summary().equals(other.summary())
    assert list(one) == ["differentiation.kind = abc", "differentiation.kind = none"]
    with pytest.raises(tidegate.UsageError, match="against"):
        tidegate.compare(SMALL, against={})


def test_a_broken_invariant_is_an_error_of_the_run(monkeypatch):
    def broken(runs):
        return Batch({}, {}, []), {0: tidegate.RunError(runs[0][1], "a packet is unaccounted for")}

    monkeypatch.setattr(batches, "run_batch", broken)
    with pytest.raises(tidegate.RunError, match="seed 5 failed: a packet"):
        tidegate.simulate(SMALL, replications=2)


def test_mechanisms_and_schema_are_there():
    names = [entry["name"] for entry in tidegate.list_mechanisms()]
    assert len(names) == len(set(names))
    kinds = {entry["name"] for entry in tidegate.list_traffic()}
    in_schema = tidegate.schema()["$defs"]["Traffic"]["oneOf"]
    assert kinds == {one["properties"]["kind"]["const"] for one in in_schema if "properties" in one}
    assert not kinds & set(names)
    assert tidegate.schema()["$schema"].startswith("https://json-schema.org/")
    assert tidegate.validate(SMALL).groups == ["heavy", "light"]
    with pytest.raises(AttributeError, match="simulation_of"):
        tidegate.simulation_of  # noqa: B018


TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
VALUES = st.recursive(
    st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)


@given(VALUES)
def test_any_value_survives_toml(value):
    assert tomllib.loads(f"value = {toml_value(value)}")["value"] == value


@given(st.text())
def test_no_text_makes_the_reader_fall_over(text):
    with pytest.raises(tidegate.ScenarioError):
        tidegate.load_scenario(text + "\n")


@given(st.dictionaries(TEXTS, VALUES, max_size=4))
def test_no_dictionary_makes_the_reader_fall_over(content):
    with pytest.raises(tidegate.ScenarioError) as caught:
        tidegate.load_scenario(content)
    assert str(caught.value)


def test_settings_name_what_is_there_and_add_brings_in_what_is_not():
    with pytest.raises(tidegate.ScenarioError, match=r"there is no group"):
        tidegate.load_scenario(SMALL, set={"users.heavi.flows": 2})
    more = {"users.guest.flows": 2}
    scenario = tidegate.load_scenario(SMALL, add=more, set={"users.guest.count": 3})
    assert scenario.groups == ["heavy", "light", "guest"]
    assert len(tidegate.simulate(SMALL, add=more, replications=1).groups) == 3
    both = tidegate.compare(SMALL, against=[("add users.guest.flows", 2)], replications=1)
    assert [len(result.groups) for result in both.values()] == [2, 3]


def test_more_runs_than_anybody_waits_for_are_refused():
    for count in (0, 10_001, 50_000_000, 10**20):
        with pytest.raises(tidegate.UsageError, match="replications"):
            tidegate.simulate(SMALL, replications=count)
    deep = {}
    for _ in range(2_000):
        deep = {"a": deep}
    with pytest.raises(tidegate.ScenarioError, match="nested too deeply"):
        tidegate.load_scenario(deep)


def test_sweeps_and_analyses_show_as_tables_in_a_notebook(tmp_path):
    swept = tidegate.sweep(SWEEP, out=tmp_path / "sweep", replications=1)._repr_html_()
    assert swept.count("<tr>") == 1 + 4
    assert "<th" in swept
    assert "users.heavy.flows" in swept
    shown = tidegate.analyse(ROOT / "scenarios/parking-lot.toml")._repr_html_()
    assert "<table>" in shown
    assert "equilibrium: " in shown
    assert "does not apply" in shown


def test_columns_are_arrays_with_a_type():
    result = tidegate.simulate(SMALL, replications=2)
    rates = result.numbers("groups", "throughput_bps")
    assert rates.dtype == np.float64
    assert rates.tolist() == result.groups["throughput_bps"].to_pylist()
    assert result.words("groups", "group") == ["heavy", "light"] * 2
    with pytest.raises(tidegate.UsageError, match="did you mean 'groups'"):
        result.numbers("group", "throughput_bps")
    with pytest.raises(tidegate.UsageError, match="did you mean 'throughput_bps'"):
        result.numbers("groups", "throughputs_bps")
