"""`tidegate league` on a tiny field: what is run, kept, written and said."""

import csv
import json
import signal
import time
import tomllib

import pytest
from support import PATIENCE_S, held

from tidegate.data import data_folder
from tidegate.errors import ResultError, UsageError
from tidegate.runs.execution import Threads
from tidegate.scenarios.reading import parse, toml_value
from tidegate.studies.book import Entry
from tidegate.studies.league.field import (
    Mechanism,
    read_mechanisms,
    read_situations,
    settles,
)
from tidegate.studies.league.findings import holds, written
from tidegate.studies.league.play import Order, play
from tidegate.studies.league.running import packet_ns
from tidegate.studies.league.scores import Scores
from tidegate.studies.league.standings import Standings
from tidegate.studies.league.tables import table

SCENARIO = """\
version = 1
description = "Two flows against one"
replications = 2
warm_up = "2 s"
duration = "4 s"
sample_interval = "off"

[bottleneck]
rate = "10 Mb/s"
buffer = "80 packets"

[users.heavy]
flows = 4

[users.light]
"""
SITUATIONS = """\
[many-flows]
title = "many flows\\nagainst one"
ratio = ["heavy", "light"]
state = true
quick = { warm_up = "1 s", duration = "1 s" }
"""
MECHANISMS = """\
[drop-tail]
title = "drop-tail"
page = "drop-tail"
why = "nothing"

[abc]
title = "ABC"
why = "as published"
bottleneck.aqm = { kind = "piecewise-linear", function = "pf-11-17-24-0.01" }
bottleneck.differentiation = { kind = "abc" }
users.meter = { reference_rate = "0.05 Mb/s" }
"""
FINDINGS = """\
[[choose]]
text = "Heavy gets {ratio(many-flows, drop-tail)}, with ABC {ratio(many-flows, abc)}."
holds = ["ratio(many-flows, drop-tail) > 1.5 * ratio(many-flows, abc)"]

[[choose]]
text = "What is not so."
holds = ["ratio(many-flows, drop-tail) < 1"]
"""


@pytest.fixture
def folder(tmp_path):
    league = tmp_path / "league"
    (league / "situations").mkdir(parents=True)
    (tmp_path / "docs").mkdir()
    (league / "situations/many-flows.toml").write_text(SCENARIO)
    (league / "situations.toml").write_text(SITUATIONS)
    (league / "mechanisms.toml").write_text(MECHANISMS)
    (league / "findings.toml").write_text(FINDINGS)
    (league / "page.md").write_text("# L\n<!-- choose -->\n<!-- table -->\n<!-- numbers -->\n")
    return league


def reported(folder):
    """Everything but costs, which take seconds."""
    return play(Order(report=True, cost=False), folder=folder)


def test_a_report_keeps_every_run_and_writes_page_figure_and_csv(folder):
    played = reported(folder)
    kept = json.loads((folder / "results/many-flows.json").read_text())
    assert [run["seed"] for run in kept["abc"]["runs"]] == [1, 2]
    assert kept["abc"]["runs"][0]["ratio"] < 2 < kept["drop-tail"]["runs"][0]["ratio"]
    found = list(csv.DictReader((folder / "results/league.csv").read_text().splitlines()))
    (row,) = [r for r in found if r["mechanism"] == "abc" and r["metric"] == "ratio"]
    mean = sum(run["ratio"] for run in kept["abc"]["runs"]) / 2
    assert float(row["mean"]) == pytest.approx(mean, rel=1e-4)
    assert (folder.parent / "docs/images/league.png").is_file()
    page = (folder.parent / "docs/league.md").read_text()
    assert "| ABC |" in page
    assert "<!--" not in page
    assert [bool(one.failed) for one in played.findings] == [False, True]
    assert "These numbers do not show it: ratio(many-flows, drop-tail) < 1" in page


def test_resuming_runs_only_what_has_changed(folder):
    reported(folder)
    path = folder / "results/many-flows.json"
    kept = json.loads(path.read_text())
    for entry in kept.values():
        entry["runs"][0]["ratio"] = 77.0
    path.write_text(json.dumps(kept))
    changed = MECHANISMS.replace("0.05 Mb/s", "0.06 Mb/s")
    (folder / "mechanisms.toml").write_text(changed)
    play(Order(report=True, resume=True, cost=False), folder=folder)
    after = json.loads(path.read_text())
    assert after["drop-tail"]["runs"][0]["ratio"] == 77.0
    assert after["abc"]["runs"][0]["ratio"] < 2
    # More runs than there are have to be run.
    play(Order(report=True, resume=True, cost=False, replications=3), folder=folder)
    after = json.loads(path.read_text())
    assert [len(entry["runs"]) for entry in after.values()] == [3, 3]


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGKILL])
def test_who_was_finished_before_the_end_is_not_played_again(tidegate_command, folder, end):
    # Ten to play: some are finished when the command ends, and some are not.
    tenth = "".join(MECHANISMS.replace("]\n", f"-{n}]\n") for n in range(5))
    (folder / "mechanisms.toml").write_text(tenth)
    asked = ("league", "--no-cost", "--jobs", "1", "--out", "out")
    path = tidegate_command.folder / "out/many-flows.json"
    hold = held("out/many-flows.json", 1)
    command = tidegate_command.start(*asked, hold=hold, TIDEGATE_STUDIES=str(folder.parent))
    while not path.is_file():
        assert command.poll() is None, command.communicate()
        time.sleep(0.002)
    command.send_signal(end)
    # It has heard, and says so before it waits for the run that is under way.
    said = next((line for line in command.stderr if "interrupted" in line), "")
    tidegate_command.go_on()
    _, rest = command.communicate(timeout=PATIENCE_S)
    said += rest
    kept = json.loads(path.read_text())
    assert 0 < len(kept) < 10, "in the middle"
    if end == signal.SIGINT:
        assert command.returncode == 130
        assert "who was finished is kept in out, and the same command with --resume goes on" in said
        assert "Traceback" not in said
    for entry in kept.values():
        entry["runs"][0]["ratio"] = 77.0
    path.write_text(json.dumps(kept))
    done = tidegate_command(*asked, "--resume", TIDEGATE_STUDIES=str(folder.parent))
    assert done.returncode == 0, done.stderr
    after = json.loads(path.read_text())
    assert len(after) == 10
    again = {name for name, entry in after.items() if entry["runs"][0]["ratio"] != 77.0}
    assert again == set(after) - set(kept)


def test_who_has_left_the_field_leaves_the_results(folder):
    reported(folder)
    (folder / "mechanisms.toml").write_text(MECHANISMS.partition("[abc]")[0])
    with pytest.raises(UsageError, match="no mechanism is called 'abc'"):
        play(Order(report=True, resume=True, cost=False), folder=folder)
    (folder / "findings.toml").write_text("")
    play(Order(report=True, resume=True, cost=False), folder=folder)
    assert list(json.loads((folder / "results/many-flows.json").read_text())) == ["drop-tail"]


def test_a_quick_look_has_two_short_runs_and_costs(folder, tmp_path):
    out = tmp_path / "out"
    order = Order(quick=True, mechanisms=("abc",), out=out)
    played = play(order, folder=folder)
    assert played.scores.of("ratio", "many-flows", "abc").runs == 2
    assert played.scores.of("cpu_ns", "", "abc").mean > 0
    assert played.scores.of("edge_state_bytes", "", "abc").mean > 8
    assert (out / "league.png").is_file()
    assert not (folder / "results").exists()


SLOW = """
[icp]
title = "ICP"
why = "its bucket fills in 1.5 s"
remembers_s = 1.5
bottleneck.aqm = { kind = "red", min_threshold = "10 packets", max_threshold = "30 packets" }
bottleneck.differentiation = { kind = "icp" }
"""


def test_a_quick_look_leaves_out_who_remembers_longer_than_it_warms_up(folder, tmp_path):
    (folder / "mechanisms.toml").write_text(MECHANISMS + SLOW)
    hasty = play(Order(quick=True, cost=False, out=tmp_path / "out"), folder=folder)
    assert hasty.scores.of("ratio", "many-flows", "abc").runs == 2
    assert hasty.scores.of("ratio", "many-flows", "icp").runs == 0
    assert "left out" in table(hasty.scores).title
    assert "ICP" in table(hasty.scores).title
    # The warm-up of 2 s is longer than its memory.
    assert reported(folder).scores.of("ratio", "many-flows", "icp").runs == 2
    assert "†" not in (folder.parent / "docs/league.md").read_text()


def test_who_remembers_longer_than_the_warm_up_is_marked(folder):
    slower = SLOW.replace("remembers_s = 1.5", "remembers_s = 3")
    (folder / "mechanisms.toml").write_text(MECHANISMS + slower)
    reported(folder)
    page = (folder.parent / "docs/league.md").read_text()
    assert page.count("| ICP † |") == 2
    assert "ABC †" not in page


def test_the_leagues_warm_up_is_as_long_as_anybody_remembers_but_for_what_the_page_names():
    data = data_folder("studies") / "league"
    unsettled = {
        situation.name
        for situation in read_situations(data).values()
        for mechanism in read_mechanisms(data).values()
        if not settles(situation, mechanism)
    }
    assert unsettled == {"cubic-and-bbr"}


UNITS = {"B": 8, "kB": 8e3, "b/s": 1, "kb/s": 1e3, "B/s": 8}
"""In bits, and bits a second."""


def test_a_bucket_is_remembered_as_long_as_it_takes_to_fill():
    policers = {
        name: (one, one.bottleneck["differentiation"])
        for name, one in read_mechanisms(data_folder("studies") / "league").items()
        if one.bottleneck.get("differentiation", {}).get("kind") not in (None, "abc")
    }
    assert len(policers) == 12
    red = '{ kind = "red", min_threshold = "10 packets", max_threshold = "30 packets" }'
    for name, (one, policer) in policers.items():
        sets = [("bottleneck.aqm", red), ("bottleneck.differentiation", toml_value(policer))]
        resolved = tomllib.loads(parse(SCENARIO, sets).to_toml())["bottleneck"]["differentiation"]
        depth, rate = (
            float(number) * UNITS[unit]
            for number, unit in (resolved[key].split() for key in ("depth", "fill_rate"))
        )
        assert depth / rate <= one.remembers_s < depth / rate + 1, name


def test_a_part_replaces_that_part_alone_and_no_more_runs(folder, tmp_path, monkeypatch):
    out = tmp_path / "out"
    play(Order(cost=False, out=out), folder=folder)
    whole = json.loads((out / "many-flows.json").read_text())
    numbers = (out / "league.csv").read_text()
    played = play(Order(cost=False, out=out, mechanisms=("abc",)), folder=folder)
    assert list(played.scores.mechanisms) == ["abc"], "what was asked for is shown"
    assert json.loads((out / "many-flows.json").read_text()) == whole
    assert (out / "league.csv").read_text() == numbers
    with pytest.raises(ResultError, match="has 2 runs of drop-tail in many-flows, these would be"):
        play(Order(cost=False, out=out, replications=1), folder=folder)
    (out / "many-flows.json").write_text("{")
    play(Order(cost=False, out=out), folder=folder)
    assert json.loads((out / "many-flows.json").read_text()) == whole, "damaged, so played again"
    # Where no folder is named, a part has one of its own.
    monkeypatch.chdir(tmp_path)
    play(Order(cost=False), folder=folder)
    play(Order(cost=False, mechanisms=("abc",)), folder=folder)
    names = sorted(path.name for path in (tmp_path / "results").iterdir())
    assert names[0] == "league"
    assert names[1].startswith("league-")
    assert json.loads((tmp_path / "results/league/many-flows.json").read_text()) == whole


def test_results_do_not_depend_on_the_number_of_threads(folder):
    first = play(Order(report=True, cost=False), folder=folder, executor=Threads(1)).scores
    second = play(Order(report=True, cost=False), folder=folder, executor=Threads(3)).scores
    assert first.standings.entries == second.standings.entries


class Somewhere:
    """What scores ask of a situation."""

    lab, state, offers = False, False, {}

    def __init__(self, name):
        self.name = name


def made_up(**ratios):
    """Scores of one situation, where every mechanism has one run."""
    entries = {name: Entry("", [{"ratio": r}]) for name, r in ratios.items()}
    mechanisms = dict.fromkeys(ratios, Mechanism("", "", "", None, {}, {}, extra=False))
    return Scores(Standings({"s": entries}), {"s": Somewhere("s")}, mechanisms)


def test_a_condition_holds_of_all_that_it_names():
    scores = made_up(ab=1.0, ac=3.0, b=2.0)
    assert holds(scores, "ratio(s, a*) < 3.5")
    assert not holds(scores, "ratio(s, a*) < 2.5")
    assert holds(scores, "ratio(s, b) > 1.5 * ratio(s, ab)")
    assert not holds(scores, "ratio(s, ab|b) > 1.5")
    # What has not been measured fulfils nothing.
    assert not holds(scores, "jain(s, b) > 0")
    assert not holds(scores, "jain(s, b) < 9")
    assert written(scores, "ratio", "s", "a*") == "1.00 to 3.00"
    assert written(scores, "ratio", "s|s", "b") == "2.00"
    for wrong in ("ratio(s, b)", "ratio(t, b) < 1", "ratio(s, x) < 1", "much < 1"):
        with pytest.raises(UsageError):
            holds(scores, wrong)


def test_the_mean_of_ratios_is_of_factors_whoever_has_more():
    def entry(ratio):
        return {"m": Entry("", [{"ratio": ratio, "jain": ratio / 10}])}

    standings = Standings({"a": entry(8.0), "b": entry(0.5)})
    scores = Scores(standings, {one: Somewhere(one) for one in "ab"}, {"m": None})
    assert scores.of("ratio", "mean", "m").mean == pytest.approx(4.0)
    assert scores.of("ratio", "worst", "m").mean == 8.0
    assert scores.of("jain", "worst", "m").mean == 0.05
    assert scores.worst_situation("jain", "m") == "b"


def test_a_packet_costs_time_and_a_meter_more():
    plain = parse(SCENARIO)
    metered = parse(
        SCENARIO, [(f"users.{g}.meter.reference_rate", "0.05 Mb/s") for g in ("heavy", "light")]
    )
    assert plain.edge_state_bytes() == 0
    assert metered.edge_state_bytes() % 2 == 0
    assert metered.edge_state_bytes() > 0
    # 1.1 times what the link carries: ten in eleven come through, the buffer of 80 aside.
    assert plain.drive(20_000, 1.1) == pytest.approx(20_000 / 1.1, rel=0.01)
    assert plain.drive(20_000, 0.5) > 19_900
    assert packet_ns(plain) > 0
    policer = {"kind": "conex-policer", "fill_rate": "4 packets/s", "depth": "45 packets"}
    declaring = {"ingress": [policer], "tcp.conex": "per-signal"}
    sets = {f"users.{g}.{k}": v for g in ("heavy", "light") for k, v in declaring.items()}
    policed = parse(SCENARIO, [(key, toml_value(value)) for key, value in sets.items()])
    assert policed.edge_state_bytes() > metered.edge_state_bytes() / 2
    # The heavy customer declares eleven packets a second where he may four: he loses most of his.
    assert policed.drive(20_000, 1.1) < 0.7 * plain.drive(20_000, 1.1)
    with pytest.raises(ValueError, match="load"):
        plain.drive(10, 0.0)


def test_the_command_refuses_what_makes_no_sense(tidegate_command):
    for options, said in (
        (["--quick", "--report"], "--quick"),
        (["-m", "rde"], "did you mean"),
        (["-s", "cubic-and-bbr", "--quick"], "--lab"),
        (["-s", "equals", "-m", "red", "--quick", "--check"], "--report"),
    ):
        done = tidegate_command("league", *options)
        assert done.returncode == 2, (options, done.stderr)
        assert said in done.stderr
    done = tidegate_command("league", "--help")
    assert "tidegate league --quick" in done.stdout


def test_the_command_prints_one_table_and_every_number(tidegate_command):
    options = ["-s", "equals", "-m", "red", "-m", "drop-tail", "--quick", "--no-cost"]
    done = tidegate_command("league", *options, "--out", "here")
    assert done.returncode == 0, done.stderr
    assert "RED" in done.stdout
    assert (tidegate_command.folder / "here/equals.json").is_file()
    found = tidegate_command.json("league", *options)
    assert {row["metric"] for row in found} >= {"ratio", "jain", "utilization", "p95_delay_s"}
    assert {row["mechanism"] for row in found} == {"red", "drop-tail"}
    text = tidegate_command("league", *options, "--format", "csv").stdout
    assert text.startswith("situation,mechanism,metric,unit,mean,ci95,runs\n")
