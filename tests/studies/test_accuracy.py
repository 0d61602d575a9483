"""How near packets are to the analysis: what is compared, and the ranges that warnings quote."""

import json
import os
from dataclasses import replace

import pytest
from support import ROOT

from tidegate.analysis.accuracy.measured import FILE, measured
from tidegate.studies.load import load_study
from tidegate.studies.points import Point, Points, fill
from tidegate.studies.relative import Near, with_relatives
from tidegate.studies.runner import Runner, native_engine
from tidegate.studies.sides.model import compute

from .synthetic import estimate

PAGE = ROOT / "studies" / "accuracy" / "RESULTS.md"


def rows(head):
    """Rows of the first table of the page whose head begins so, by their first cell."""
    lines = iter(PAGE.read_text(encoding="utf-8").splitlines())
    next(line for line in lines if line.startswith(head))
    next(lines)
    found = {}
    for line in lines:
        if not line.startswith("|"):
            return found
        name, *cells = (cell.strip() for cell in line.strip("|").split("|"))
        found[name] = cells
    return found


def percent(quotients):
    return [round(100 * (float(one) - 1)) for one in quotients]


def test_ranges_that_warnings_quote_are_those_of_the_sample():
    """Run with UPDATE=1 to copy them from the page."""
    ranges = {
        cause: {
            "scenarios": int(count),
            "rates_percent": percent(each[:2]),
            "queue_percent": percent(each[2:]),
        }
        for cause, (count, *each) in rows("| cause").items()
    }
    if os.environ.get("UPDATE") == "1":
        FILE.write_text(json.dumps(ranges, indent=2) + "\n", encoding="utf-8")
        measured.cache_clear()
    assert json.loads(FILE.read_text(encoding="utf-8")) == ranges, "run with UPDATE=1"
    alone = [
        cause
        for cause, want in load_study("accuracy").experiments["sample"].tables[1]["rows"].items()
        if isinstance(want, str)
    ]
    assert alone
    assert all(ranges[cause]["scenarios"] >= 8 for cause in alone), "others: with company"


def test_the_gate_has_sixty_scenarios_and_the_sample_twelve_hundred():
    study = load_study("accuracy")
    counts = {
        name: sum(len(series.settings) for series in each.series.values())
        for name, each in study.experiments.items()
    }
    assert counts == {"gate": 60, "sample": 1200}


def test_no_claim_on_the_page_fails():
    verdicts = [cells[-1] for cells in rows("| claim").values()]
    assert verdicts
    assert all("fails" not in verdict for verdict in verdicts)


@pytest.fixture(scope="module")
def some_of_the_gate():
    study = load_study("accuracy")
    series = study.experiments["gate"].series["gate"]
    few = {
        ("reno", "pie", 20), ("cubic", "dualpi2", 20), ("dctcp", "red-drops", 20),
        ("sbrm", "sbrm-queue", 100), ("cubic-and-prague", "dualpi2", 20),
        ("two-customers", "icp-on-red", 20),
    }  # fmt: skip
    settings = [one for one in series.settings if tuple(one.levels.values()) in few]
    points = Points()
    wanted = {("gate", "gate"): replace(series, settings=tuple(settings))}
    fill(points, wanted, Runner(native_engine, study.measures), 2)
    return with_relatives(points, {}, study.near).series(("gate", "gate"))


def test_some_of_the_gate_come_out_so_again(some_of_the_gate):
    for point in some_of_the_gate:
        warned = point.levels["source"] in {"cubic-and-prague", "two-customers"}
        assert (point.levels["verdict"] == "near") is not warned, point.levels
        assert (point.levels["warned"] == "none") is not warned
        assert point.metrics["off"].mean == (point.levels["verdict"] == "off")


def test_what_the_analysis_refuses_has_no_prediction():
    series = load_study("accuracy").experiments["sample"].series["plain"]
    wanted = {"sender": "sbrm", "queue": "red", "link_ecn": False}
    setting = next(one for one in series.settings if wanted.items() <= one.levels.items())
    found = compute("equilibrium", {}, lambda _: native_engine(setting.base, setting.overrides))
    assert found == {"warned": "refused", "verdict": "refused"}


@pytest.mark.parametrize(
    ("name", "mean", "ci95", "verdict"),
    [
        ("a", 1.09, 0.0, "near"),
        ("a", 1.09, 0.05, "near"),
        ("a", 0.89, 0.02, "undecided"),
        ("a", 0.89, 0.005, "off"),
        ("queue", 1.19, 0.0, "near"),
        ("queue", 1.25, 0.06, "undecided"),
        ("queue", 0.75, 0.04, "off"),
    ],
)
def test_a_mean_is_off_where_chance_does_not_explain_it(name, mean, ci95, verdict):
    metrics = {"b": estimate(2.0), "model b": estimate(2.0), f"model {name}": estimate(2.0)}
    metrics[name] = estimate(2 * mean, 2 * ci95)
    near = {
        "rates": Near({"a": "model a", "b": "model b"}, 0.1),
        "queues": Near({"queue": "model queue"}, 0.2),
    }
    points = [Point({"x": 1}, metrics), Point({"x": 2}, {"a": estimate(1.0)})]
    judged, alone = with_relatives(Points({("e", "s"): points}), {}, near).series(("e", "s"))
    assert judged.levels == {"x": 1, "verdict": verdict}
    assert judged.metrics["off"].mean == (verdict == "off")
    kind = "queues" if name == "queue" else "rates"
    ends = [judged.metrics[f"{kind}_{end}"].mean for end in ("low", "high")]
    assert pytest.approx(mean) in ends
    assert alone.levels == {"x": 2}, "nothing was predicted there"
