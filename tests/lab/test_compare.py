"""Results side by side."""

import csv
import json
import math
import re

import pytest
from support import SMALL

import tidegate
from tidegate.results.statistics import welch95


@pytest.fixture
def results(tidegate_command):
    for name, gamma in (("three", 3), ("none", 0)):
        setting = f"bottleneck.differentiation.gamma={gamma}"
        done = tidegate_command("simulate", "small.toml", "--set", setting, "--out", name)
        assert done.returncode == 0, done.stderr
    return tidegate_command


def test_differences_come_with_welchs_interval_and_differing_settings_are_named(results):
    done = results("compare", "three", "none")
    assert done.returncode == 0, done.stderr
    assert "bottleneck.differentiation.gamma: 3.0 | 0.0" in done.stderr
    for word in ("heavy", "per user", "difference", "±", "p95 sojourn time", "figure: results/"):
        assert word in done.stdout
    (folder,) = (results.folder / "results").glob("three--none-*")
    assert (folder / "compare.png").stat().st_size > 10_000
    assert results("compare", "three", "none").stdout == done.stdout
    assert len(list((results.folder / "results").iterdir())) == 1


def test_json_and_csv_have_the_same_numbers(results):
    found = results.json("compare", "three", "none", "--out", "drawn")
    assert found["figures"] == ["drawn/compare.png"]
    assert found["settings"][0]["key"] == "bottleneck.differentiation.gamma"
    by_key = {(row["name"], row["metric"]): row for row in found["differences"]}
    heavy = by_key["heavy", "throughput_bps"]
    assert heavy["runs_a"] == heavy["runs_b"] == 3
    assert heavy["difference"] == pytest.approx(heavy["mean_b"] - heavy["mean_a"])
    assert heavy["relative"] == pytest.approx(heavy["difference"] / heavy["mean_a"])
    assert ("heavy", "ratio_to_first") not in by_key
    done = results("compare", "three", "none", "--format", "csv", "--quiet")
    rows = list(csv.DictReader(done.stdout.splitlines()))
    assert len(rows) == len(found["differences"])
    assert done.stderr == ""


def test_three_results_stand_side_by_side_each_against_the_first(results):
    setting = "bottleneck.differentiation.gamma=1"
    assert results("simulate", "small.toml", "--set", setting, "--out", "one").returncode == 0
    done = results("compare", "three", "none", "one", "--out", "drawn")
    assert done.returncode == 0, done.stderr
    assert "bottleneck.differentiation.gamma: 3.0 | 0.0 | 1.0" in done.stderr
    heading = next(line for line in done.stdout.splitlines() if "metric" in line)
    assert re.findall(r"three|none|one|relative", heading) == [
        "three", "none", "relative", "one", "relative",
    ]  # fmt: skip
    assert (results.folder / "drawn/compare.png").stat().st_size > 10_000
    found = results.json("compare", "three", "none", "one", "--no-save")
    assert [found[side]["name"] for side in "abc"] == ["three", "none", "one"]
    assert found["settings"][0] == {
        "key": "bottleneck.differentiation.gamma", "a": "3.0", "b": "0.0", "c": "1.0",
    }  # fmt: skip
    alone = results.json("compare", "three", "one", "--no-save")["differences"]
    of_one = [row for row in found["differences"] if row.pop("result") == "one"]
    assert of_one == alone


def test_equal_results_do_not_differ():
    result = tidegate.simulate(SMALL)
    both = tidegate.compare_results(result, result)
    assert both.settings == []
    assert {row.difference for row in both.differences} == {0.0}
    assert len(set(both.results)) == 2, "names tell them apart, even of the same scenario"


def test_simulated_and_real_stand_side_by_side_without_invalid_runs(stand_in, monkeypatch):
    # The stand-in simulates with the same seeds: only the invalid run makes a difference.
    monkeypatch.setenv("TIDEGATE_STAND_IN", "late=6")
    both = tidegate.compare_results(tidegate.simulate(SMALL), tidegate.lab(SMALL))
    assert list(both.results) == ["simulated", "real Linux"]
    assert {(row.a.runs, row.b.runs) for row in both.differences if row.metric == "utilization"} \
        == {(3, 2)}  # fmt: skip
    assert "real Linux" in both._repr_html_()


def test_results_without_anything_in_common_are_refused():
    other = SMALL.replace("users.heavy", "users.x").replace("users.light", "users.y")
    other = other.replace("[bottleneck]", '[links.a]\nfrom = "r0"\nto = "r1"')
    other = other.replace("[users.x]", '[users.x]\nfrom = "r0"\nto = "r1"')
    other = other.replace("[users.y]", '[users.y]\nfrom = "r0"\nto = "r1"')
    a, b = (tidegate.simulate(text, replications=1) for text in (SMALL, other))
    with pytest.raises(tidegate.UsageError, match="nothing in common"):
        tidegate.compare_results(a, b)


def test_a_folder_with_variants_says_which_to_name(tidegate_command):
    against = ("--against", "bottleneck.differentiation.kind=none", "--out", "both")
    assert tidegate_command("simulate", "small.toml", *against).returncode == 0
    done = tidegate_command("compare", "both", "both")
    assert done.returncode == 2
    assert "both/variant-1" in done.stderr
    left, right = "both/variant-0", "both/variant-1"
    found = json.loads(tidegate_command("compare", left, right, "-f", "json").stdout)
    assert found["settings"]
    assert found["a"]["name"] == "differentiation.kind = abc"


def test_every_pair_has_a_folder_of_its_own(results):
    against = ("--against", "bottleneck.differentiation.kind=none")
    for name, more in (("both", ()), ("x/both", ("--set", "users.heavy.flows=1"))):
        results("simulate", "small.toml", *against, *more, "--out", name)
    pairs = [("both/variant-0", "both/variant-1"), ("x/both/variant-0", "x/both/variant-1"),
             ("both/variant-1", "both/variant-0"), ("three", "none")]  # fmt: skip
    drawn = {path for pair in pairs for path in results.json("compare", *pair)["figures"]}
    assert len(drawn) == len(pairs)


def test_a_figure_that_could_not_be_drawn_is_an_error_unless_nobody_wants_it(results):
    (results.folder / "results").write_text("a file where the folder would be")
    done = results("compare", "three", "none", "-q")
    assert done.returncode == 1
    assert "heavy" in done.stdout
    assert "not drawn: cannot write" in done.stderr
    assert results("compare", "three", "none", "-q", "--no-save").returncode == 0
    reported = results("compare", "three", "none", "-f", "csv", "--out", "drawn").stderr
    assert "figure: drawn/compare.png" in reported


def test_one_run_has_a_difference_and_no_interval():
    difference, half = welch95([1.0], [3.0, 5.0])
    assert difference == 3.0
    assert math.isnan(half)


def test_welch_agrees_with_a_table_of_scipy():
    from scipy.stats import ttest_ind

    a, b = [10.0, 11.0, 9.5, 10.4], [12.1, 13.0, 11.0]
    interval = ttest_ind(b, a, equal_var=False).confidence_interval(0.95)
    difference, half = welch95(a, b)
    assert (difference - half, difference + half) == pytest.approx((interval.low, interval.high))
