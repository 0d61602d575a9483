"""`tidegate lab` with a stand-in for the program that needs root: what it prints and keeps."""

import csv
import json
import os
import signal
import subprocess
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from support import COMMAND, PATIENCE_S, comes


def test_the_result_has_the_tables_of_a_simulation_and_how_well_the_machine_kept_up(lab_command):
    done = lab_command("lab", "small.toml", "-r", 2)
    assert done.returncode == 0, done.stderr
    for word in (
        "heavy",
        "per user",
        "p95 queueing delay",
        "on Linux 6.0.0-stand-in with IPv4",
        "µs",
    ):
        assert word in done.stdout
    assert "where this kernel differs from the scenario: slow start ends by" in done.stdout
    assert "2 runs of 3 s" in done.stderr, "how long it takes is said before"
    (folder,) = (lab_command.folder / "results").iterdir()
    assert folder.name.startswith("small-lab-")
    assert json.loads((folder / "manifest.json").read_text())["kind"] == "lab"
    rows = pq.read_table(folder / "lab.parquet").to_pylist()
    assert [row["seed"] for row in rows] == [5, 6]
    assert all(row["valid"] and row["packets"] == 1000 for row in rows)
    assert pq.read_table(folder / "users.parquet")["fast_recoveries"].null_count > 0


def test_a_run_in_which_the_machine_could_not_keep_up_is_kept_and_not_averaged(lab_command):
    done = lab_command("lab", "small.toml", "--format", "json", how="late=6")
    found = json.loads(done.stdout)
    assert [run["valid"] for run in found["runs"]] == [True, False, True]
    assert {row["runs"] for row in found["summary"] if row["metric"] == "throughput_bps"} == {2}
    folder = lab_command.folder / found["folder"]
    assert set(pq.read_table(folder / "groups.parquet")["seed"].to_pylist()) == {5, 6, 7}
    shown = lab_command("lab", "small.toml", how="late=6").stdout
    assert "1 of 3 runs invalid" in shown
    assert "seed 6: forwarder late for 12 % of the packets" in shown


def test_runs_on_real_linux_are_never_replaced(lab_command):
    for _ in range(2):
        assert lab_command("lab", "small.toml", "-r", 1).returncode == 0
    first, second = sorted(path.name for path in (lab_command.folder / "results").iterdir())
    assert second == f"{first}-2"
    assert lab_command("lab", "small.toml", "-r", 1, "--out", "kept").returncode == 0
    manifest = (lab_command.folder / "kept/manifest.json").read_text()
    for command in ("lab", "simulate"):
        done = lab_command(command, "small.toml", "-r", 2, "--out", "kept")
        assert (done.returncode, done.stdout) == (1, "")
        assert "runs on real Linux, which cannot be repeated; it was left alone" in done.stderr
    assert (lab_command.folder / "kept/manifest.json").read_text() == manifest


def test_when_no_run_is_valid_it_ends_with_6(lab_command):
    done = lab_command("lab", "small.toml", "-r", 2, "--plot", how="late=all")
    assert done.returncode == 6
    assert "2 of 2 runs invalid" in done.stdout
    assert "could not keep up" in done.stderr


def test_variants_csv_and_figures_are_as_those_of_a_simulation(lab_command):
    against = ("--against", "bottleneck.differentiation.kind=none")
    done = lab_command("lab", "small.toml", "-r", 2, *against, "-f", "csv", "--plot", "--quiet")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    rows = list(csv.DictReader(done.stdout.splitlines()))
    assert len({row["variant"] for row in rows}) == 2
    (folder,) = (lab_command.folder / "results").iterdir()
    assert (folder / "who-got-what.png").is_file()


@pytest.mark.parametrize(
    ("arguments", "how", "code", "output"),
    [
        (["small.toml"], "missing", 77, "root: run it with sudo"),
        (["--check"], "missing", 77, "root: run it with sudo"),
        (["small.toml"], "broken", 1, "ended with 1: the stand-in was told to fail"),
        (["small.toml"], "garbage", 1, "no valid result"),
        (["small.toml", "--ip", "5"], "", 2, "ip"),
        (["small.toml", "--generator", "netperf"], "", 2, "iperf3"),
        (["absent.toml"], "", 3, "cannot read"),
        ([], "", 2, "scenario"),
    ],
)
def test_errors_end_with_their_code_and_a_line(lab_command, arguments, how, code, output):
    done = lab_command("lab", *arguments, how=how)
    assert done.returncode == code, done.stderr
    assert output in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_without_the_program_it_says_how_to_get_it_and_the_rest_works(lab_command):
    absent = {"TIDEGATE_LAB": "/nowhere/tidegate-lab"}
    done = lab_command("lab", "--check", **absent)
    assert done.returncode == 77
    assert "make setup" in done.stderr
    assert lab_command("simulate", "small.toml", "-r", 1, **absent).returncode == 0
    assert "tidegate-lab" in lab_command("doctor", **absent).stdout


def test_congestion_control_of_ours_stays_in_the_kernel_while_the_runs_last(lab_command, tmp_path):
    # Stands in for `tidegate-bpf`, which needs root: says when it starts and ends.
    log, program = tmp_path / "held", tmp_path / "stand-in-for-tidegate-bpf"
    program.write_text(
        f"#!/bin/sh\necho began >> {log}\ntrap 'echo ended >> {log}; exit 0' TERM\n"
        "echo ready\nwhile :; do sleep 0.05; done\n"
    )
    sbrm = ("lab", "small.toml", "-r", "1", "--set", "tcp.congestion_control=sbrm")
    absent = lab_command(*sbrm, TIDEGATE_BPF=str(program))
    assert absent.returncode == 77, "it cannot be run yet"
    assert "clang" in absent.stderr
    assert lab_command(*sbrm, "--check", TIDEGATE_BPF=str(program)).returncode == 77
    program.chmod(0o755)
    assert lab_command(*sbrm, TIDEGATE_BPF=str(program)).returncode == 0
    assert log.read_text().split() == ["began", "ended"]
    # It ends all the same where a run fails.
    broken = {"TIDEGATE_BPF": str(program), "TIDEGATE_STAND_IN": "broken"}
    assert lab_command(*sbrm, **broken).returncode == 1
    assert log.read_text().split() == ["began", "ended"] * 2


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_under_sudo_the_results_belong_to_who_called_it(lab_command):
    os.chown(lab_command.folder, 1234, 1234)
    done = lab_command("lab", "small.toml", "-r", 1, "--plot", SUDO_UID="1234", SUDO_GID="1234")
    assert done.returncode == 0, done.stderr
    results = lab_command.folder / "results"
    owners = {path.stat().st_uid for path in [results, *results.rglob("*")]}
    assert owners == {1234}


def test_check_says_that_nothing_is_missing(lab_command):
    done = lab_command("lab", "--check")
    assert (done.returncode, done.stdout.splitlines()[0]) == (0, "the lab can run here")


def test_how_to_look_inside_is_said_once(lab_command):
    done = lab_command("lab", "small.toml", "--verbose")
    assert done.stderr.count("nsenter") == 1


def test_interrupting_stops_the_runs_and_ends_with_130(lab_command):
    process = subprocess.Popen(
        [COMMAND, "lab", "small.toml", "-r", "3", "--jobs", "2", "--verbose"],
        cwd=lab_command.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**lab_command.environment, "TIDEGATE_STAND_IN": "slow"},
    )  # fmt: skip
    children = []
    for line in process.stderr:
        children += [int(line.split()[1])] if line.startswith("pid") else []
        if len(children) == 2:
            break
    process.send_signal(signal.SIGINT)
    _, output = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130
    assert "interrupted" in output
    assert comes(lambda: not any(map(runs, children)))


def runs(pid):
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z" and os.getpid() != pid


def test_what_the_lab_cannot_run_is_refused_before_anything_starts(lab_command):
    pages = ("--set", 'users.heavy.traffic={ kind = "pages" }')
    for how in ("", "missing", "broken"):
        done = lab_command("lab", "small.toml", *pages, how=how)
        assert (done.returncode, done.stdout) == (3, "")
        (line,) = done.stderr.splitlines()
        assert line.startswith("the lab cannot run this: heavy: ")
    assert lab_command("lab", "small.toml", *pages, "--check").returncode == 3
    assert not (lab_command.folder / "results").exists()


def test_what_a_kernel_does_its_own_way_is_said_first(lab_command):
    done = lab_command("lab", "small.toml", "-r", 1)
    first, *_ = done.stderr.splitlines()
    assert first == "small.toml: warning: on a kernel, slow start ends by HyStart"
    assert "on a kernel" not in lab_command("lab", "small.toml", "-r", 1, "--quiet").stderr
