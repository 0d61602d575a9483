"""Traces of links: files beside a scenario, and what `tidegate trace` says of them."""

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from support import ROOT

import tidegate
from tidegate.errors import AnalysisError, TraceError
from tidegate.scenarios.data_files import MAX_TRACE_BYTES
from tidegate.scenarios.traces import read_trace

TRACES = ROOT / "scenarios" / "traces"
SCENARIO = """
version = 1
warm_up = "1 s"
duration = "2 s"
[bottleneck]
rate = { trace = "own.down" }
[users.a]
traffic = { kind = "cbr", rate = "9 Mb/s" }
"""


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    path = tmp_path / "scenario.toml"
    path.write_text(SCENARIO, encoding="utf-8")
    return path


def test_a_trace_is_seen_from_the_scenario_and_kept_with_it(scenario: Path) -> None:
    (scenario.parent / "own.down").write_text("2\n4\n4", encoding="utf-8")
    read = tidegate.load_scenario(scenario)
    assert read.plan()["links"][0]["rate_bps"] == 9_000_000
    assert read.plan()["links"][0]["rate_trace_repeats"] is True
    (scenario.parent / "own.down").unlink()
    assert tidegate.load_scenario(read.to_toml()).to_toml() == read.to_toml()
    assert '"2\\n4\\n4\\n"' in read.to_toml()


def test_an_override_names_another_trace(scenario: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.csv"
    other.write_text("time_s,rate_kbps\n0,500\n1,700\n", encoding="utf-8")
    read = tidegate.load_scenario(scenario, set={"bottleneck.rate.trace": str(other)})
    assert read.plan()["links"][0]["rate_bps"] == 600_000
    delay = {"bottleneck.delay": {"trace": str(tmp_path / "delay.csv"), "repeat": False}}
    (tmp_path / "delay.csv").write_text("time_ms,delay_ms\n0,7\n9,5\n", encoding="utf-8")
    (scenario.parent / "own.down").write_text("2\n", encoding="utf-8")
    link = tidegate.load_scenario(scenario, set=delay).plan()["links"][0]
    assert (link["delay_s"], link["delay_trace_repeats"]) == (0.005, False)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "cannot read own.down: No such file"),
        ("", "has no lines"),
        ("secret", "line 1: no time"),
        ("5\n4711x\n", "line 2: no time"),
        ("time,rate\n0,1\n", "write a head with the units of both columns"),
        ("time_s,rate_mbps\n0,0\n", "its rate is 0 all the time"),
        ("7\n3\n", "line 2: its time is before"),
        ("1\n" * (MAX_TRACE_BYTES // 2 + 1), f"more than {MAX_TRACE_BYTES} bytes"),
    ],
)
def test_what_is_no_trace_is_one_error(scenario: Path, content: str | None, message: str) -> None:
    if content is not None:
        (scenario.parent / "own.down").write_text(content, encoding="utf-8")
    with pytest.raises(tidegate.ScenarioError, match=message) as raised:
        tidegate.load_scenario(scenario)
    assert [issue.key for issue in raised.value.issues] == ["bottleneck.rate.trace"]
    shown = str(raised.value)
    assert "secret" not in shown
    assert "4711" not in shown


def test_a_trace_without_end_is_refused(scenario: Path) -> None:
    (scenario.parent / "own.down").symlink_to("/dev/zero")
    with pytest.raises(tidegate.ScenarioError, match="it is a device"):
        tidegate.load_scenario(scenario)
    with pytest.raises(TraceError, match="it is a device"):
        read_trace(scenario.parent / "own.down")


def test_a_rate_follows_a_trace_or_changes_at_given_times(scenario: Path) -> None:
    (scenario.parent / "own.down").write_text("2\n", encoding="utf-8")
    changes = {"bottleneck.rate_changes": [{"at": "1 s", "rate": "1 Mb/s"}]}
    with pytest.raises(tidegate.ScenarioError, match="the rate follows a trace already"):
        tidegate.load_scenario(scenario, set=changes)


def test_windows_and_outages_are_of_the_whole_trace(tmp_path: Path) -> None:
    path = tmp_path / "trace.csv"
    path.write_text("time_s,rate_mbps\n10,4\n10.5,0\n11,0\n11.5,2\n12.5,8\n", encoding="utf-8")
    trace = read_trace(path)
    assert trace.length_s == pytest.approx(3.5)
    assert trace.mean == pytest.approx((4 * 0.5 + 2 + 8) * 1e6 / 3.5)
    assert trace.windows(1.0) == pytest.approx([2e6, 1e6, 5e6, 8e6])
    assert trace.outages_s(0.5) == pytest.approx([1.0])
    assert trace.outages_s(1.1).size == 0
    with pytest.raises(TraceError, match="windows"):
        trace.summary(1e-9, 0.1)


def test_the_command_says_what_a_trace_has(tidegate_command, tmp_path: Path) -> None:
    path = TRACES / "cellular.down"
    row = json.loads(tidegate_command("trace", str(path), "--format", "json").stdout)
    lines = path.read_text(encoding="utf-8").split()
    length_s = int(lines[-1]) / 1e3
    assert row["mean"] == pytest.approx(len(lines) * 12_000 / length_s)
    assert (row["format"], row["length_s"]) == ("mahimahi", length_s)
    gaps = np.diff([0, *map(int, lines)]) - 1
    assert row["longest_outage_s"] == pytest.approx(gaps.max() / 1e3)
    assert row["outages"] == int((gaps >= 100).sum())
    assert row["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
    shown = tidegate_command("trace", str(path), "--plot", "--out", str(tmp_path / "figures"))
    assert "mean 3.873 Mb/s" in shown.stdout
    assert (tmp_path / "figures" / "cellular.down.png").stat().st_size > 1000
    delay = tidegate_command("trace", str(TRACES / "leo-delay.csv"))
    assert "largest step" in delay.stdout


def test_the_command_refuses_what_is_no_trace(tidegate_command, tmp_path: Path) -> None:
    (tmp_path / "bad").write_text("1\nx\n", encoding="utf-8")
    for name, message in [("bad", "line 2: no time"), ("none", "No such file")]:
        done = tidegate_command("trace", str(tmp_path / name))
        assert done.returncode == 3
        assert message in done.stderr
        assert "Traceback" not in done.stderr


def test_the_traces_of_the_project_are_what_their_program_makes(tmp_path: Path) -> None:
    (tmp_path / "make.py").write_bytes((TRACES / "make.py").read_bytes())
    subprocess.run([sys.executable, tmp_path / "make.py"], check=True)
    for name in ("cellular.down", "leo-delay.csv"):
        assert (tmp_path / name).read_bytes() == (TRACES / name).read_bytes()


def test_models_of_a_constant_rate_refuse_a_trace() -> None:
    with pytest.raises(AnalysisError, match="models are of a constant"):
        tidegate.analyse(ROOT / "scenarios" / "leo-handovers.toml", "equilibrium")


def test_a_table_of_delays_is_a_file_too(tmp_path: Path) -> None:
    text = SCENARIO.replace('rate = { trace = "own.down" }', 'rate = "9 Mb/s"\nloss = "1 %"')
    text = text.replace("[users.a]", '[bottleneck.jitter]\nkind = "table"\nspread = "3 ms"\n'
                        'table = "own.dist"\n[users.a]')  # fmt: skip
    path = tmp_path / "scenario.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(tidegate.ScenarioError, match=r"cannot read own\.dist.*netem"):
        tidegate.load_scenario(path)
    (tmp_path / "own.dist").write_text("# two\n-8192 4096\n", encoding="utf-8")
    link = tidegate.load_scenario(path).plan()["links"][0]
    assert link["loss"] == 0.01
    assert link["jitter"] is not None
    assert link["jitter"]["kind"] == "table"
    (tmp_path / "own.dist").write_text("secret\n", encoding="utf-8")
    with pytest.raises(tidegate.ScenarioError, match="line 1: no whole number") as raised:
        tidegate.load_scenario(path)
    assert "secret" not in str(raised.value)


def test_models_refuse_a_wire_that_does_more_than_delay() -> None:
    for key in ("reorder", "duplicate", "loss"):
        with pytest.raises(AnalysisError, match=rf"bottleneck\.{key}"):
            tidegate.analyse(
                ROOT / "scenarios" / "s2-red-ecn.toml", "equilibrium",
                set={f"bottleneck.{key}": 0.01},
            )  # fmt: skip


def test_an_error_in_a_data_file_names_the_file(tmp_path: Path) -> None:
    (tmp_path / "sizes.csv").write_text("1000,0.5\nmany,1\n")
    (tmp_path / "frames.csv").write_text("many\n")
    (tmp_path / "rate.csv").write_text("time_s,rate_mbps\n0,many\n")
    (tmp_path / "s.toml").write_text(
        'version = 1\nbottleneck.rate = { trace = "rate.csv" }\n[users.a.traffic]\n'
        'kind = "frames"\nrate = "1 Mb/s"\nframes = "frames.csv"\n[users.b.traffic]\n'
        'kind = "short-flows"\nevery = "1 s"\nsize = { kind = "cdf", points = "sizes.csv" }\n'
    )
    with pytest.raises(tidegate.ScenarioError) as refused:
        tidegate.load_scenario(tmp_path / "s.toml")
    messages = {issue.key: issue.message for issue in refused.value.issues}
    for key, name in {
        "bottleneck.rate.trace": "rate.csv", "users.a.traffic.frames": "frames.csv",
        "users.b.traffic.size.points": "sizes.csv",
    }.items():  # fmt: skip
        assert messages[key].startswith(f"{name}: "), messages
        assert name in next(i.text for i in refused.value.issues if i.key == key)
