"""Sweeps: every point, each run kept, nothing done twice, nothing lost."""

import csv
import json
import os
import re
import signal
import time

import pyarrow.parquet as pq
import pytest
from support import PATIENCE_S, SMALL, SWEEP, held
from typer.testing import CliRunner

import tidegate
from tidegate.cli import app
from tidegate.errors import RunError
from tidegate.runs import sweep_work
from tidegate.runs.catalogue import Catalogue
from tidegate.runs.swept_values import UNITS, quantities


def runs_in(folder):
    """By point and seed, the file that has the run and when it was written."""
    if not (folder / "catalogue.sqlite").exists():
        return {}
    try:
        catalogue = Catalogue(folder / "catalogue.sqlite", writable=False)
    except tidegate.ResultError as error:
        # The file is there a moment before its tables are.
        assert "has nothing yet" in str(error)  # noqa: PT017
        return {}
    return {
        (settings, run.seed): (run.file.name, (folder / "runs" / run.file.name).stat().st_mtime_ns)
        for number, settings in catalogue.points()
        for run in catalogue.runs(number)
    }


def files_of(folder):
    return {path.name for path in folder.glob("runs/*.parquet")}


def test_every_point_has_its_runs_and_its_summary(tidegate_command):
    found = tidegate_command.json("sweep", "sweep.toml", "--out", "kept")
    assert [point["settings"] for point in found["points"]] == [
        {"users.heavy.flows": flows, "bottleneck.differentiation.gamma": gamma}
        for flows in (1, 4)
        for gamma in (0.0, 3.0)
    ]
    assert len({run["digest"] for point in found["points"] for run in point["runs"]}) == 12
    assert len(runs_in(tidegate_command.folder / "kept")) == 12
    for point in found["points"]:
        assert {row["name"] for row in point["summary"]} == {"heavy", "light", "bottleneck"}
    alone = tidegate_command.json("simulate", "small.toml", "--no-save")
    assert alone["runs"] == found["points"][-1]["runs"], "a point is the scenario at that point"


def test_a_sweep_that_was_killed_goes_on_where_it_stopped(tidegate_command):
    longer = SWEEP.replace("replications = 3", "replications = 15")
    (tidegate_command.folder / "sweep.toml").write_text(longer)
    folder = tidegate_command.folder / "kept"
    process = tidegate_command.start(
        "sweep", "sweep.toml", "--out", "kept", "--jobs", "1", hold=held("kept/runs/*.parquet", 1)
    )
    # The first file has at most half of the runs.
    while not runs_in(folder):
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    before = runs_in(folder)
    assert 0 < len(before) < 60
    assert not (folder / "manifest.json").exists()

    resumed = tidegate_command.json("sweep", "sweep.toml", "--out", "kept")
    after = runs_in(folder)
    assert len(after) == 60
    assert {name: after[name] for name in before} == before, "finished runs were not done again"
    assert not list(folder.glob("runs/.*")), "nothing half-written is left"
    whole = tidegate_command.json("sweep", "sweep.toml", "--out", "whole", "--jobs", "2")
    assert resumed["points"] == whole["points"], "and it makes no difference"


def test_an_interrupted_sweep_says_that_it_can_go_on(tidegate_command):
    longer = SWEEP.replace('duration = "2 s"', 'duration = "60000 s"')
    (tidegate_command.folder / "sweep.toml").write_text(longer)
    process = tidegate_command.start("sweep", "sweep.toml")
    tidegate_command.wait_until_it_computes(process)
    process.send_signal(signal.SIGINT)
    _, output = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130
    assert "the same command goes on from there" in output
    assert "Traceback" not in output


def test_more_replications_only_add_runs(tidegate_command):
    folder = tidegate_command.folder / "kept"
    tidegate_command.json("sweep", "sweep.toml", "--out", "kept", "-r", 1)
    before = runs_in(folder)
    tidegate_command.json("sweep", "sweep.toml", "--out", "kept", "-r", 2)
    after = runs_in(folder)
    assert (len(before), len(after)) == (4, 8)
    assert {name: after[name] for name in before} == before
    tidegate_command.json("sweep", "sweep.toml", "--out", "kept", "-r", 2, "--no-resume")
    assert not set(runs_in(folder).items()) & set(after.items())


def test_fewer_replications_lose_nothing(tidegate_command):
    folder = tidegate_command.folder / "kept"
    sweep = ("sweep", "sweep.toml", "--out", "kept")
    tidegate_command.json(*sweep, "-r", 3, "--plot")
    figures = {path: path.read_bytes() for path in folder.glob("*.png")}
    done = tidegate_command(*sweep, "-r", 1, "--plot")
    assert "kept keeps 12 runs, of which the 4 asked for are shown" in done.stderr
    found = tidegate_command.json(*sweep, "-r", 1)
    assert [len(point["runs"]) for point in found["points"]] == [1] * 4, "what was asked for"
    assert {row["runs"] for point in found["points"] for row in point["summary"]} <= {0, 1}
    assert set(pq.read_table(folder / "summary.parquet")["runs"].to_pylist()) == {0, 3}
    assert [result.replications for _, result in tidegate.load_sweep(folder).results()] == [3] * 4
    assert {path: path.read_bytes() for path in folder.glob("*.png")} == figures
    # Other seeds come in addition, with a gap between them.
    tidegate_command.json(*sweep, "-r", 2, "--seed", 100)
    kept = tidegate.load_sweep(folder)
    assert {tuple(point.seeds) for point in kept.points} == {(5, 6, 7, 100, 101)}


def damage(path, how):
    content = path.read_bytes()
    middle = len(content) // 3
    return path.write_bytes({
        "cut": content[:100], "empty": b"", "other": b"PAR1 and then nothing",
        "flipped": content[:middle] + bytes([content[middle] ^ 16]) + content[middle + 1 :],
    }[how])  # fmt: skip


@pytest.mark.parametrize("how", ["cut", "empty", "other", "flipped"])
def test_a_damaged_run_is_computed_again(tmp_path, how):
    first = tidegate.sweep(SWEEP, out=tmp_path, replications=2)
    before = runs_in(tmp_path)
    name = first.points[2].runs[1].file.name
    whole = first.summary()
    damage(tmp_path / "runs" / name, how)
    again = tidegate.sweep(SWEEP, out=tmp_path, replications=1)
    assert tidegate.load_sweep(tmp_path).summary().equals(whole)
    assert again.summary().num_rows == whole.num_rows
    after = runs_in(tmp_path)
    assert before.keys() == after.keys()
    again = {run for run, (_, written) in after.items() if before[run][1] != written}
    assert again == {run for run, (file, _) in before.items() if file == name}
    assert {file for file, _ in after.values()} == files_of(tmp_path)


def test_a_damaged_run_is_told_by_who_only_reads(tmp_path):
    done = tidegate.sweep(SWEEP, out=tmp_path, replications=1)
    damage(tmp_path / "runs" / done.points[0].runs[0].file.name, "cut")
    with pytest.raises(tidegate.ResultError, match=r"parquet is damaged.*run the same sweep again"):
        tidegate.load_sweep(tmp_path).summary()
    (tmp_path / "scenario.toml").unlink()
    with pytest.raises(tidegate.ResultError, match="damaged"):
        tidegate.load_sweep(tmp_path)


def test_another_sweep_needs_another_folder(tmp_path):
    tidegate.sweep(SWEEP, out=tmp_path, replications=1)
    before = runs_in(tmp_path)
    for other in (SWEEP.replace("[1, 4]", "[1, 2]"), SWEEP.replace('"2 s"', '"3 s"')):
        with pytest.raises(tidegate.ResultError, match="has another sweep; it was left alone"):
            tidegate.sweep(other, out=tmp_path, replications=1)
    assert runs_in(tmp_path) == before
    more = tidegate.sweep(SWEEP.replace("[1, 4]", "[1, 2, 4]"), out=tmp_path, replications=1)
    assert len(more.points) == 6
    assert runs_in(tmp_path).items() > before.items(), "points may be added"


def test_runs_of_another_build_are_replaced_by_no_fewer(tmp_path, monkeypatch):
    tidegate.sweep(SWEEP, out=tmp_path, replications=2)
    old = files_of(tmp_path)
    monkeypatch.setattr(sweep_work, "build_id", lambda: "another build")
    with pytest.raises(tidegate.ResultError, match=r"has 2 runs of .* by another build"):
        tidegate.sweep(SWEEP, out=tmp_path, replications=1)
    assert files_of(tmp_path) == old
    tidegate.sweep(SWEEP, out=tmp_path, replications=2)
    assert len(runs_in(tmp_path)) == 8
    assert not old & files_of(tmp_path), "nothing names the superseded ones any more"


VALUES = (
    SMALL
    + """
[sweep]
"bottleneck.delay" = ["5 ms", "0.05 s"]
"users.light.count" = [1, 2]
"bottleneck.differentiation" = [{ kind = "none" }, { kind = "abc", gamma = 3.0 }]
"bottleneck.buffer" = ["50 packets", "60 kB"]
"""
)


def test_values_of_swept_keys_keep_their_types(tidegate_command):
    (tidegate_command.folder / "values.toml").write_text(VALUES)
    done = tidegate_command("sweep", "values.toml", "-r", 1, "--format", "csv", "--out", "kept")
    rows = list(csv.DictReader(done.stdout.splitlines()))
    assert "results in kept" in done.stderr
    assert {row["bottleneck.delay"] for row in rows} == {"5 ms", "0.05 s"}
    assert {row["bottleneck.delay_s"] for row in rows} == {"0.005", "0.05"}
    assert {row["bottleneck.differentiation"] for row in rows} == {"none", "abc, gamma 3.0"}
    assert {row["bottleneck.buffer"] for row in rows} == {"50 packets", "60 kB"}
    assert '"""' not in done.stdout
    kept = tidegate.load_sweep(tidegate_command.folder / "kept").summary()
    types = {field.name: str(field.type) for field in kept.schema}
    assert types["bottleneck.delay"] == types["bottleneck.buffer"] == "string"
    assert types["bottleneck.delay_s"] == "double"
    assert kept.schema.field("bottleneck.delay_s").metadata == {b"unit": b"s"}
    assert types["users.light.count"] == "int64"
    assert not {name for name in types if name.startswith("bottleneck.buffer_")}, "two dimensions"
    on_disk = pq.read_table(tidegate_command.folder / "kept/summary.parquet")
    assert on_disk.equals(kept)
    swept = tidegate.sweep(VALUES, out=tidegate_command.folder / "again", replications=1)
    assert swept.summary().equals(kept)
    found = tidegate_command.json("sweep", "values.toml", "-r", 1, "--out", "kept")
    assert found["points"][-1]["settings"] == {
        "bottleneck.delay": "0.05 s", "users.light.count": 2, "bottleneck.buffer": "60 kB",
        "bottleneck.differentiation": {"kind": "abc", "gamma": 3.0},
    }  # fmt: skip


def test_units_are_those_of_scenario_files():
    # They end in all the units: "^[0-9]+(\\.[0-9]+)? *(ns|us|ms|s|min|h)$".
    patterns = re.findall(r" \*\(([^()]+)\)\$", json.dumps(tidegate.schema()))
    known = {unit for units in UNITS.values() for unit in units}
    assert {unit for pattern in patterns for unit in pattern.split("|")} == known
    assert "^[0-9]+ *packets?$" in json.dumps(tidegate.schema())
    for dimension, texts in {
        "s": ["1 s", "1000 ms"], "bps": ["8 b/s", "1 B/s"], "bytes": ["1 KiB", "1024 B"],
    }.items():  # fmt: skip
        name, amounts = quantities(texts)
        assert name == dimension
        assert amounts[0] == amounts[1]


def test_csv_has_a_column_for_each_key(tidegate_command):
    done = tidegate_command("sweep", "sweep.toml", "-r", 1, "--format", "csv")
    rows = list(csv.DictReader(done.stdout.splitlines()))
    assert {row["users.heavy.flows"] for row in rows} == {"1", "4"}
    shown = tidegate_command("sweep", "sweep.toml", "-r", 1).stdout
    assert "users.heavy.flows" in shown
    assert "Throughput per user" in shown


def test_a_point_that_cannot_be_is_refused_before_anything_runs(tidegate_command):
    bad = SWEEP.replace("[1, 4]", "[1, -4]")
    (tidegate_command.folder / "sweep.toml").write_text(bad)
    done = tidegate_command("sweep", "sweep.toml", "--out", "kept")
    assert done.returncode == 3
    assert "flows" in done.stderr
    assert not (tidegate_command.folder / "kept").exists()


def test_a_failed_run_costs_its_point_only(tmp_path, monkeypatch):
    (tmp_path / "sweep.toml").write_text(SWEEP)
    real = sweep_work.run_batch

    def sometimes(runs):
        broken = [
            number
            for number, (scenario, seed) in enumerate(runs)
            if seed == 6 and "flows = 4" in scenario.to_toml()
        ]
        others = [run for number, run in enumerate(runs) if number not in broken]
        batch, _ = real(others)
        return batch, {number: RunError(6, "a packet is unaccounted for") for number in broken}

    monkeypatch.setattr(sweep_work, "run_batch", sometimes)
    arguments = ["sweep", str(tmp_path / "sweep.toml"), "--out", str(tmp_path / "kept")]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 4
    assert "users.heavy.flows = 4" in done.stderr
    assert "a packet is unaccounted for" in done.stderr
    kept = tidegate.load_sweep(tmp_path / "kept")
    assert [list(point.failures) for point in kept.points] == [[], [], [6], [6]]
    assert [result.replications for _, result in kept.results()] == [3, 3, 2, 2]
    assert len(kept.failed) == 2

    monkeypatch.setattr(sweep_work, "run_batch", real)
    assert CliRunner().invoke(app, arguments).exit_code == 0, "the same command repairs it"


def test_a_kept_sweep_reads_the_same(tmp_path):
    done = tidegate.sweep(SWEEP, out=tmp_path / "kept", replications=2)
    kept = tidegate.load_sweep(tmp_path / "kept")
    assert kept.summary().equals(done.summary())
    assert kept.axes == ["users.heavy.flows", "bottleneck.differentiation.gamma"]
    with pytest.raises(tidegate.ResultError, match="load_sweep"):
        tidegate.load(tmp_path / "kept")


def test_a_sweep_is_drawn_group_by_group(tidegate_command):
    done = tidegate_command("sweep", "sweep.toml", "-r", "2", "--out", "kept", "--plot")
    assert "sweep-heavy.png, sweep-light.png" in done.stdout, done.stderr
    again = tidegate_command("plot", "kept", "--out", "figures")
    assert len(again.stdout.split()) == 2
    for name in ("sweep-heavy.png", "sweep-light.png"):
        first, second = (tidegate_command.folder / at / name for at in ("kept", "figures"))
        assert first.read_bytes() == second.read_bytes()


def test_a_scenario_without_sweep_is_a_sweep_of_one_point(tmp_path):
    done = tidegate.sweep(SMALL, out=tmp_path, replications=1)
    assert len(done.points) == 1


def test_a_run_file_is_one_row_that_other_tools_can_read(tmp_path):
    tidegate.sweep(SMALL, out=tmp_path, replications=1)
    (path,) = tmp_path.glob("runs/*.parquet")
    row = pq.read_table(path)
    assert row.num_rows == 1
    assert row["seed"].to_pylist() == [5]
    flows = row["flows"].to_pylist()[0]
    assert [flow["group"] for flow in flows] == ["heavy"] * 4 + ["light"] * 2


def test_progress_counts_what_was_there_already(tmp_path):
    tidegate.sweep(SWEEP, out=tmp_path, replications=1)
    seen = []
    tidegate.sweep(SWEEP, out=tmp_path, replications=2, progress=lambda *at: seen.append(at))
    assert seen == [(done, 8) for done in range(4, 9)]
