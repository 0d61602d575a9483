"""The command as a user types it: what it prints, where, and how it ends."""

import csv
import json
import os
import pty
import re
import signal
import subprocess
import sys
import tomllib

import pytest
import typer
from support import COMMAND, PATIENCE_S, ROOT, SMALL

from tidegate.cli import app, commands

COMMANDS = (
    "simulate",
    "analyse",
    "lab",
    "compare",
    "sweep",
    "reproduce",
    "list",
    "validate",
    "schema",
    "plot",
    "report",
    "trace",
    "capture",
    "probe",
    "price",
    "doctor",
)
COLOUR = r"\x1b\[(?:[0-9;]*;)?(?:3[0-8]|9[0-7])[;m]"


def test_help_of_every_command_has_an_example(tidegate_command):
    for name in COMMANDS:
        done = tidegate_command(name, "--help")
        assert done.returncode == 0
        assert f"tidegate {name}" in done.stdout
        files = set(re.findall(r"\b(?:scenarios|sweeps)/[\w-]+\.toml", done.stdout))
        assert [file for file in files if not (ROOT / file).is_file()] == []


def test_help_loads_no_heavy_library():
    # A table library costs 0.3 s, a plot library more than one: not for a help text.
    code = (
        "import sys; from tidegate.cli import app; app(['--help'], standalone_mode=False);"
        "print(*sorted({name.partition('.')[0] for name in sys.modules}), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stderr.split())
    assert {"typer", "tidegate"} <= loaded
    assert not loaded & {"numpy", "pyarrow", "scipy", "matplotlib", "pandas", "duckdb", "rich"}


def test_the_list_of_commands_has_the_first_line_of_each_help():
    for name, command in typer.main.get_command(app).commands.items():
        assert command.help.partition("\n")[0] == commands.COMMANDS[name].summary


def test_version(tidegate_command):
    import tidegate

    assert tidegate_command("--version").stdout == f"tidegate {tidegate.__version__}\n"


def test_simulate_prints_who_got_what_and_where_the_results_are(tidegate_command):
    done = tidegate_command("simulate", "small.toml")
    assert done.returncode == 0, done.stderr
    for word in (
        "heavy",
        "light",
        "per user",
        "[Mb/s]",
        "×",
        "RTT",
        "bottleneck",
        "p95 queueing delay",
    ):
        assert word in done.stdout
    assert "±" in done.stdout
    assert "\x1b" not in done.stdout + done.stderr, "no colours and no progress bar in a pipe"
    (folder,) = (tidegate_command.folder / "results").iterdir()
    assert f"results in results/{folder.name}" in done.stdout
    assert folder.name.startswith("small-")
    assert tomllib.loads((folder / "scenario.toml").read_text())["users"]["heavy"]["flows"] == 4
    manifest = json.loads((folder / "manifest.json").read_text())
    assert [run["seed"] for run in manifest["runs"]] == [5, 6, 7]


def test_json_has_seeds_and_digests_and_the_summary(tidegate_command):
    found = tidegate_command.json("simulate", "small.toml", "--no-save")
    assert found["scenario"]["name"] == "small"
    assert [run["seed"] for run in found["runs"]] == [5, 6, 7]
    assert len({run["digest"] for run in found["runs"]}) == 3
    rows = {(r["kind"], r["name"], r["metric"]): r for r in found["summary"]}
    heavy = rows["group", "heavy", "throughput_bps"]
    assert heavy["unit"] == "bit/s"
    assert heavy["runs"] == 3
    assert 0 < heavy["ci95"] < heavy["mean"] < 10e6
    assert 0.9 < rows["link", "bottleneck", "utilization"]["mean"] <= 1.0
    assert not (tidegate_command.folder / "results").exists()


def test_json_is_strict_even_where_a_number_is_missing(tidegate_command):
    done = tidegate_command("simulate", "small.toml", "-r", "1", "--format", "json")
    found = json.loads(done.stdout, parse_constant=lambda name: pytest.fail(f"{name} in JSON"))
    assert all(row["ci95"] is None for row in found["summary"])


def test_csv_is_a_table(tidegate_command):
    done = tidegate_command("simulate", "small.toml", "--format", "csv", "--quiet")
    rows = list(csv.DictReader(done.stdout.splitlines()))
    assert {row["name"] for row in rows} == {"heavy", "light", "bottleneck"}
    assert all(float(row["mean"]) >= 0 for row in rows if row["metric"] == "throughput_bps")
    assert done.stderr == ""


def test_threads_and_repetition_do_not_change_a_run(tidegate_command):
    one = tidegate_command.json("simulate", "small.toml", "--jobs", 1, "--no-save")
    two = tidegate_command.json("simulate", "small.toml", "--jobs", 2, "--no-save")
    assert one == two
    alone = tidegate_command.json("simulate", "small.toml", "--seed", 6, "-r", 1, "--no-save")
    assert alone["runs"] == [one["runs"][1]], "a replication is the run of its seed"


def test_settings_win_over_the_file(tidegate_command):
    more = ("--set", "users.heavy.flows=1", "--set", "bottleneck.rate=20 Mb/s")
    found = tidegate_command.json("simulate", "small.toml", *more)
    kept = tomllib.loads((tidegate_command.folder / found["folder"] / "scenario.toml").read_text())
    assert kept["users"]["heavy"]["flows"] == 1
    assert kept["bottleneck"]["rate"] == "20 Mb/s"


def test_variants_stand_side_by_side(tidegate_command):
    against = ("--against", "bottleneck.differentiation.kind=none")
    found = tidegate_command.json("simulate", "small.toml", *against, "--plot")
    names = ["differentiation.kind = abc", "differentiation.kind = none"]
    assert list(dict.fromkeys(run["variant"] for run in found["runs"])) == names
    shares = {
        row["variant"]: row["mean"]
        for row in found["summary"]
        if (row["name"], row["metric"]) == ("heavy", "share")
    }
    assert shares[names[0]] < shares[names[1]], "ABC takes from the heavy user"
    folder = tidegate_command.folder / found["folder"]
    assert {path.name for path in folder.glob("*.png")} == {
        "who-got-what.png", "delay.png", "group-heavy.png", "group-light.png",
        "queue-bottleneck.png",
    }  # fmt: skip


def test_a_variant_of_many_values_is_called_by_what_tells_it_apart(tidegate_command):
    """Not by all that a table has, defaults included."""
    against = ("--against", 'bottleneck.differentiation={ kind = "abc", gamma = 1.0 }')
    found = tidegate_command.json("simulate", "small.toml", *against, "-r", 1, "--no-save")
    names = list(dict.fromkeys(run["variant"] for run in found["runs"]))
    assert names == [f"bottleneck.differentiation = abc, gamma {gamma}" for gamma in (3.0, 1.0)]


def test_a_variant_that_is_none_is_refused(tidegate_command):
    done = tidegate_command("simulate", "small.toml", "--against", "bottleneck.buffer=50 packets")
    assert done.returncode == 2
    assert "the same" in done.stderr


def test_plot_draws_a_saved_result(tidegate_command):
    folder = tidegate_command.json("simulate", "small.toml", "--out", "kept")["folder"]
    assert folder == "kept"
    done = tidegate_command("plot", "kept", "--out", "figures")
    assert done.returncode == 0, done.stderr
    files = [tidegate_command.folder / line for line in done.stdout.split()]
    assert len(files) == 5
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in files)


def test_a_refused_scenario_reports_every_error(tidegate_command):
    bad = SMALL.replace('"10 Mb/s"', '"10 M"').replace("[users.light]", "[user.light]")
    (tidegate_command.folder / "bad.toml").write_text(bad)
    done = tidegate_command("simulate", "bad.toml")
    assert done.returncode == 3
    assert done.stdout == ""
    assert 'bad.toml: line 9: bottleneck.rate: "10 M" has no unit; write e.g.' in done.stderr
    assert 'did you mean "users"?' in done.stderr
    assert "Traceback" not in done.stderr
    assert tidegate_command("validate", "bad.toml", "small.toml").returncode == 3
    listed = json.loads(tidegate_command("validate", "bad.toml", "--format", "json").stdout)
    assert {issue["line"] for issue in listed} >= {9}


def test_what_only_a_kernel_has_is_valid_but_not_simulated(tidegate_command):
    qdisc = ["--set", 'bottleneck.kernel_qdisc={ kind = "fq_codel" }']
    checked = tidegate_command("validate", "small.toml", *qdisc)
    want = "small.toml: valid, but for `tidegate lab` only\n"
    assert (checked.returncode, checked.stdout) == (0, want)
    assert "the simulator has no qdiscs of Linux" in checked.stderr
    (reported,) = tidegate_command.json("validate", "small.toml", *qdisc)
    assert (reported["severity"], reported["key"]) == ("lab only", "bottleneck.kernel_qdisc")
    for command in ("simulate", "sweep"):
        done = tidegate_command(command, "small.toml", *qdisc)
        assert done.returncode == 3
        assert "bottleneck.kernel_qdisc: the simulator has no qdiscs of Linux; run it on " in (
            done.stderr
        )
        assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "stated"),
    [
        (["simulate"], 2, "Missing argument"),
        (["simulate", "small.toml", "--set", "flows"], 2, "KEY=VALUE"),
        (["simulate", "small.toml", "--format", "xml"], 2, "xml"),
        (["simulate", "small.toml", "--seed", "-1"], 2, "seed"),
        (["simulate", "small.toml", "--jobs", "0"], 2, "jobs"),
        (["simulate", "missing.toml"], 3, "missing.toml: cannot read"),
        (["simulate", "."], 3, "cannot read"),
        (["simulate", "small.toml", "--set", "users.heavy.flowz=3"], 3, "flows"),
        (["simulate", "small.toml", "--set", "bottleneck.rate=10"], 3, "Mb/s"),
        (["simulate", "small.toml", "--out", "small.toml"], 1, "small.toml"),
        (["simulate", "small.toml", "--out", "precious"], 1, "left alone"),
        (["simulate", "small.toml", "--no-save", "--plot"], 2, "--no-save"),
        (["simulate", "small.toml", "--no-save", "--out", "kept"], 2, "--no-save"),
        (["sweep", "small.toml", "--plot"], 2, "one point"),
        (["reproduce", "abc", "--quick", "--report"], 2, "--quick"),
        (["reproduce", "abc/fig2", "--report"], 2, "EXPERIMENT"),
        (["reproduce", "abc", "--report", "--out", "kept"], 2, "--out"),
        (["plot", "precious"], 1, "manifest.json"),
        (["list", "abx"], 2, "abc"),
        (["reproduce", "abd/table2"], 2, "abc"),
        (["frobnicate"], 2, "frobnicate"),
    ],
)
def test_errors_end_with_their_code_and_a_line(tidegate_command, arguments, code, stated):
    precious = tidegate_command.folder / "precious"
    precious.mkdir()
    (precious / "thesis.txt").write_text("years of work")
    done = tidegate_command(*arguments)
    assert done.returncode == code, done.stderr
    assert stated in done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    assert (precious / "thesis.txt").exists()


@pytest.mark.parametrize("more", [(), ("--quiet",)])
def test_what_could_not_be_saved_is_printed_and_ends_with_1(tidegate_command, more):
    (tidegate_command.folder / "results").write_text("a file where the folder would be")
    done = tidegate_command("simulate", "small.toml", *more)
    assert done.returncode == 1
    assert "heavy" in done.stdout
    assert "tidegate: not saved: cannot write results/small-" in done.stderr


def test_not_saving_is_done_by_asking_for_it(tidegate_command):
    done = tidegate_command("simulate", "small.toml", "--no-save", "-q", TIDEGATE_OUT="kept")
    assert (done.returncode, done.stderr) == (0, "")
    assert "results in" not in done.stdout
    assert not (tidegate_command.folder / "kept").exists()


def test_every_path_written_is_told_in_every_format(tidegate_command):
    arguments = ("simulate", "small.toml", "-r", 1, "--out", "kept", "--plot")
    names = {
        "who-got-what.png",
        "delay.png",
        "group-heavy.png",
        "group-light.png",
        "queue-bottleneck.png",
    }
    shown = tidegate_command(*arguments).stdout
    assert all(name in shown.splitlines()[-1] for name in ("results in kept", *names))
    reported = tidegate_command(*arguments, "--format", "csv").stderr
    assert all(name in reported for name in ("results in kept", *names))
    found = tidegate_command.json(*arguments)
    assert {found["folder"]} | set(found["figures"]) == {"kept"} | {f"kept/{n}" for n in names}
    assert {path.name for path in (tidegate_command.folder / "kept").glob("*.png")} == names


def test_list_names_parameters_units_and_sources(tidegate_command):
    assert {"abc", "red", "cubic"} <= {entry["name"] for entry in tidegate_command.json("list")}
    one = tidegate_command("list", "abc").stdout
    assert "gamma" in one
    assert "3.0" in one
    assert "Menth" in one


def test_list_traffic_names_every_kind_and_each_has_its_keys(tidegate_command):
    kinds = tidegate_command.json("list", "traffic")
    printed = tidegate_command("list", "traffic").stdout
    assert [kind["name"] for kind in kinds if kind["name"] not in printed] == []
    one = tidegate_command("list", "transfer").stdout
    assert {"size", "pause", "required"} <= set(one.split())
    assert tidegate_command.json("list", "cbr")["name"] == "cbr"
    rows = list(csv.DictReader(tidegate_command("list", "cbr", "-f", "csv").stdout.splitlines()))
    assert [row["name"] for row in rows] == ["rate", "ecn", "conex", "lasts", "codec"]


def test_schema_is_the_one_in_the_repository(tidegate_command):
    printed = json.loads(tidegate_command("schema").stdout)
    assert printed == json.loads((ROOT / "schema/scenario-v1.json").read_text())


def test_doctor_finds_this_installation_healthy(tidegate_command):
    done = tidegate_command("doctor")
    assert done.returncode == 0, done.stdout
    assert "BAD" not in done.stdout


def test_doctor_calls_nothing_ok_that_is_not_here(tidegate_command):
    done = tidegate_command("doctor", PATH="/nowhere", TIDEGATE_LAB="/nowhere/tidegate-lab")
    assert done.returncode == 0, "without the lab everything else works"
    states = {line.split()[1]: line.split()[0] for line in done.stdout.splitlines()}
    absent = {"ns-2", "lab", "tidegate-lab", "clang", "iperf3", "tshark"}
    assert {states[name] for name in absent} == {"none"}, done.stdout
    assert {states[name] for name in ("tidegate", "python", "numpy", "engine")} == {"ok"}
    good = [line for line in done.stdout.splitlines() if line.startswith("ok")]
    assert not [line for line in good if "miss" in line or "not " in line]


@pytest.mark.parametrize("folder", ["scenarios", "scenarios/lab", "sweeps"])
def test_every_scenario_in_the_repository_is_valid(tidegate_command, folder):
    files = sorted((ROOT / folder).glob("*.toml"))
    assert files
    done = tidegate_command("validate", *files)
    assert done.returncode == 0, done.stderr


def test_interrupting_ends_with_130(tidegate_command):
    process = tidegate_command.start("simulate", "small.toml", "--set", "duration=60000 s")
    tidegate_command.wait_until_it_computes(process)
    process.send_signal(signal.SIGINT)
    _, stated = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130
    assert "interrupted" in stated
    assert "Traceback" not in stated


def test_a_reader_that_leaves_early_is_no_error(tidegate_command):
    shell = f"set -o pipefail; '{COMMAND}' schema | head -n 1"
    done = subprocess.run(
        ["bash", "-c", shell], cwd=tidegate_command.folder, capture_output=True, text=True
    )
    assert done.returncode == 0
    assert "Traceback" not in done.stderr


def in_terminal(command, *arguments, **environment):
    """Run with a pseudo-terminal on stdout and stderr; return what appears there."""
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [COMMAND, *arguments], cwd=command.folder, stdin=follower, stdout=follower,
        stderr=follower, env=command.environment(TERM="xterm", COLUMNS="160", **environment),
    )  # fmt: skip
    os.close(follower)
    seen = b""
    try:
        while part := os.read(leader, 65536):
            seen += part
    except OSError:  # how a pseudo-terminal says that nobody writes to it any more
        pass
    os.close(leader)
    assert process.wait() == 0
    return seen.decode()


def test_a_terminal_sees_progress_and_style_but_no_colour_against_its_will(tidegate_command):
    arguments = ("simulate", "small.toml", "--no-save")
    assert "runs" in (coloured := in_terminal(tidegate_command, *arguments))
    assert "\x1b[" in coloured
    plain = in_terminal(tidegate_command, *arguments, NO_COLOR="1")
    assert re.search(COLOUR, coloured)
    assert not re.search(COLOUR, plain)
    assert "runs" not in in_terminal(tidegate_command, *arguments, "--quiet").split("mean")[0]


HEAVI = "users.heavi.flows=20"


@pytest.mark.parametrize(
    "arguments",
    [
        ["simulate", "small.toml", "--set", HEAVI],
        ["simulate", "small.toml", "--against", HEAVI],
        ["validate", "small.toml", "--set", HEAVI],
        ["sweep", "sweep.toml", "--set", HEAVI],
        ["sweep", "misprint.toml"],
        ["lab", "small.toml", "--set", HEAVI],
    ],
)
def test_a_misprint_in_a_name_is_no_new_group(tidegate_command, arguments):
    misprint = SMALL + '[sweep]\n"users.heavi.flows" = [1, 20]\n'
    (tidegate_command.folder / "misprint.toml").write_text(misprint)
    done = tidegate_command(*arguments)
    assert done.returncode == 3
    assert 'there is no group "heavi"; groups are heavy, light' in done.stderr
    assert 'did you mean "users.heavy"?' in done.stderr
    assert "Traceback" not in done.stderr


def test_add_brings_in_a_group_on_the_command_line_and_in_sweeps(tidegate_command):
    guest = ("--add", "users.guest.flows=2", "--set", "users.guest.count=2", "-r", "1")
    found = tidegate_command.json("simulate", "small.toml", *guest, "--no-save")
    assert {r["name"] for r in found["summary"] if r["kind"] == "group"} == {
        "heavy", "light", "guest",
    }  # fmt: skip
    against = ("--against", "add users.guest.flows=2", "-r", "1", "--no-save")
    found = tidegate_command.json("simulate", "small.toml", *against)
    assert {run["variant"] for run in found["runs"]} == {
        "guest.flows = unset", "guest.flows = 2",
    }  # fmt: skip
    swept = SMALL + '[sweep]\n"add users.guest.flows" = [1, 4]\n'
    (tidegate_command.folder / "guests.toml").write_text(swept)
    found = tidegate_command.json("sweep", "guests.toml", "-r", "1", "-q")
    assert [point["settings"] for point in found["points"]] == [
        {"add users.guest.flows": 1}, {"add users.guest.flows": 4},
    ]  # fmt: skip
    done = tidegate_command("simulate", "small.toml", "--add", "users.heavy.flows=2")
    assert (done.returncode, "already" in done.stderr) == (3, True)


def test_validate_prints_a_verdict_for_each_file_and_what_it_found_elsewhere(tidegate_command):
    (tidegate_command.folder / "bad.toml").write_text(SMALL.replace('"10 Mb/s"', '"10 M"'))
    (tidegate_command.folder / "odd.toml").write_text(SMALL.replace('"5 ms"', '"1000000000 s"'))
    files = ("small.toml", "bad.toml", "odd.toml")
    done = tidegate_command("validate", *files)
    assert done.returncode == 3
    verdicts = "small.toml: valid\nbad.toml: refused\nodd.toml: valid\n"
    assert done.stdout == verdicts
    assert "bad.toml: line 9: bottleneck.rate" in done.stderr
    assert "odd.toml: warning: line 15: users.heavy: its first data cannot arrive" in done.stderr
    listed = tidegate_command("validate", *files, "--format", "json")
    assert listed.stderr == ""
    kinds = [(issue["file"], issue["severity"]) for issue in json.loads(listed.stdout)]
    assert kinds == [
        ("bad.toml", "error"), ("odd.toml", "warning"), ("odd.toml", "warning"),
    ]  # fmt: skip
    assert tidegate_command("validate", "odd.toml").returncode == 0
    warned = tidegate_command("simulate", "odd.toml", "-r", "1", "--no-save")
    assert "odd.toml: warning: line 15: users.heavy" in warned.stderr
    assert "warning: users.light got nothing, 0 b/s in every run" in warned.stderr
    assert tidegate_command("simulate", "odd.toml", "-r", "1", "--no-save", "-q").stderr == ""


@pytest.mark.parametrize("count", ["50000000", "9" * 20, "10001", "0", "-1"])
def test_more_runs_than_anybody_waits_for_are_refused_before_the_first(tidegate_command, count):
    for command in ("simulate", "sweep", "lab"):
        done = tidegate_command(command, "small.toml", f"--replications={count}")
        assert done.returncode == 2
        assert "replications" in done.stderr
    done = tidegate_command("simulate", "small.toml", "--set", f"replications={count}")
    assert done.returncode == 3
    assert "replications: " in done.stderr


def test_hostile_files_are_refused_in_a_line(tidegate_command):
    texts = {
        "lists": SMALL + "x = " + "[" * 1_000 + "]" * 1_000,
        "deep": SMALL + "x = " + "[" * 100_000 + "]" * 100_000,
        "tables": SMALL + "x = " + "{a=" * 1_000 + "1" + "}" * 1_000,
        "dots": "a." * 20_000 + "b = 1\n" + SMALL,
        "quoted": '"=".' * 20_000 + "b = 1\n" + SMALL,
        "large": SMALL + "# " + "x" * 5_000_000,
    }
    for name, text in texts.items():
        (tidegate_command.folder / f"{name}.toml").write_text(text)
    for place in [*(f"{name}.toml" for name in texts), "/dev/zero"]:
        done = tidegate_command("validate", place)
        assert done.returncode == 3, place
        assert done.stdout == f"{place}: refused\n"
        assert done.stderr.count("\n") == 1, done.stderr
        assert len(done.stderr) < 400
    key = tidegate_command("validate", "small.toml", "--set", "a." * 20_000 + "b=1")
    assert (key.returncode, len(key.stderr) < 400) == (3, True)


@pytest.mark.parametrize(
    ("arguments", "redirection"),
    [
        (arguments, redirection)
        for arguments in ("--help", "list", "schema", "validate small.toml -f json", "validate x")
        for redirection in (">/dev/full", ">&-")
    ],
)
def test_output_that_does_not_arrive_is_a_failure_in_a_line(
    tidegate_command, arguments, redirection
):
    shell = f"'{COMMAND}' {arguments} {redirection}"
    done = subprocess.run(
        ["bash", "-c", shell], cwd=tidegate_command.folder, capture_output=True, text=True
    )
    assert done.returncode == 1
    assert "tidegate: cannot write to standard output: " in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr


def test_without_anybody_to_tell_the_work_is_done(tidegate_command):
    for redirection in ("2>/dev/full", "2>&-"):
        shell = f"'{COMMAND}' validate small.toml x {redirection}"
        done = subprocess.run(
            ["bash", "-c", shell], cwd=tidegate_command.folder, capture_output=True, text=True
        )
        assert (done.returncode, done.stdout) == (3, "small.toml: valid\nx: refused\n")
