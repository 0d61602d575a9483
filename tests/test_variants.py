"""Variants of a scenario: those of the file, mechanisms of the league, and their differences."""

import json

import numpy as np
import pytest
from support import SMALL

import tidegate
from tidegate.errors import UsageError
from tidegate.results.comparing import compare_results
from tidegate.results.statistics import welch95
from tidegate.scenarios.reading import parse
from tidegate.scenarios.variants import mechanisms_of_the_league, variants_of

VARIED = (
    SMALL
    + """
[variants.plain]
bottleneck.differentiation = "none"

[variants.fair]
bottleneck.scheduler = "drr"
users.light = { count = 4 }
"""
)


def test_variants_of_a_file_come_beside_the_file_as_it_stands():
    both = tidegate.compare(VARIED, replications=1)
    assert list(both) == ["as in the file", "plain", "fair"]
    by_hand = {
        "as in the file": {},
        "plain": {"bottleneck.differentiation.kind": "none"},
        "fair": {"bottleneck.scheduler.kind": "drr", "users.light.count": 4},
    }
    for name, changes in by_hand.items():
        assert both[name].digests == tidegate.simulate(SMALL, set=changes, replications=1).digests


def test_a_variant_without_keys_names_the_file_as_it_stands():
    named = VARIED + "[variants.abc]\n"
    assert list(variants_of(named)) == ["plain", "fair", "abc"]
    assert variants_of(named)["abc"].to_toml() == parse(SMALL).to_toml()


def test_of_variants_some_can_be_chosen_and_a_wrong_name_is_met_with_the_nearest():
    assert list(variants_of(VARIED, only=["plain", "fair"])) == ["plain", "fair"]
    (alone,) = variants_of(VARIED, only=["fair"]).items()
    assert alone[0] == ""
    assert "drr" in alone[1].to_toml()
    with pytest.raises(UsageError, match="did you mean 'plain'"):
        variants_of(VARIED, only=["plaine"])
    with pytest.raises(UsageError, match="the file has none"):
        variants_of(SMALL, only=["plain"])


@pytest.mark.parametrize("name", mechanisms_of_the_league())
def test_each_mechanism_of_the_league_takes_the_place_of_what_a_scenario_has(name):
    both = variants_of(SMALL, mechanisms=[name])
    assert list(both) == ["as in the file", name]
    plan = both[name].plan()
    link = next(link for link in plan["links"] if link["monitored"])
    base = next(link for link in parse(SMALL).plan()["links"] if link["monitored"])
    parts = ("aqm", "scheduler", "differentiation")
    assert [link[part] for part in parts] != [base[part] for part in parts]
    assert link["rate_bps"] == base["rate_bps"]


def test_mechanisms_reach_every_link_of_a_row_and_those_with_prices_are_refused():
    drr = variants_of("scenarios/parking-lot.toml", mechanisms=["drr"])["drr"].plan()
    kinds = {link["scheduler"]["kind"] for link in drr["links"] if link["monitored"]}
    assert kinds == {"drr"}
    with pytest.raises(UsageError, match="without prices"):
        variants_of(SMALL, mechanisms=["sbrm"])
    with pytest.raises(UsageError, match="did you mean 'dual-host'"):
        variants_of(SMALL, mechanisms=["cake"])


def test_a_sweep_runs_every_variant_at_every_point(tmp_path):
    swept = tidegate.sweep(
        VARIED + '[sweep]\n"users.heavy.flows" = [1, 4]\n', out=tmp_path / "s", replications=1
    )
    rows = swept.summary().to_pylist()
    points = {(row["variant"], row["users.heavy.flows"]) for row in rows}
    assert points == {(name, n) for name in ("as in the file", "plain", "fair") for n in (1, 4)}
    rate = {
        row["variant"]: row["mean"] for row in rows
        if (row["name"], row["metric"], row["users.heavy.flows"]) == ("heavy", "throughput_bps", 4)
    }  # fmt: skip
    direct = tidegate.simulate(SMALL, set={"bottleneck.differentiation": "none"}, replications=1)
    assert rate["plain"] == direct.groups.to_pylist()[0]["throughput_bps"]


def test_differences_of_runs_with_common_seeds_are_paired():
    a = tidegate.simulate(SMALL, replications=6)
    b = tidegate.simulate(SMALL, set={"bottleneck.delay": "6 ms"}, replications=6)
    others = tidegate.simulate(SMALL, set={"bottleneck.delay": "6 ms"}, seed=100, replications=6)

    def of_heavy(result):
        rows = result.groups.to_pylist()
        return np.array([row["throughput_bps"] for row in rows if row["group"] == "heavy"])

    def found(both):
        wanted = ("heavy", "throughput_bps")
        return next(one for one in both.differences if (one.name, one.metric) == wanted)

    each = of_heavy(b) - of_heavy(a)
    paired = found(compare_results(a, b))
    assert paired.difference == pytest.approx(each.mean())
    assert paired.ci95 == pytest.approx(2.5706 * each.std(ddof=1) / 6**0.5, rel=1e-4)
    apart = found(compare_results(a, others))
    assert apart.ci95 == pytest.approx(welch95(of_heavy(a), of_heavy(others))[1])


def test_the_command_runs_variants_and_compares_those_of_one_folder(tidegate_command, tmp_path):
    (tmp_path / "varied.toml").write_text(VARIED)
    given = ("simulate", "varied.toml", "-r", "2", "--out", "both", "--format", "json")
    done = tidegate_command(*given, "--with", "fq-codel")
    assert done.returncode == 0, done.stderr
    names = {row["variant"] for row in json.loads(done.stdout)["summary"]}
    assert names == {"as in the file", "plain", "fair", "fq-codel"}
    done = tidegate_command("compare", "both", "--no-save", "--format", "csv")
    assert done.returncode == 0, done.stderr
    assert {line.split(",")[4] for line in done.stdout.splitlines()[1:]} == names - {
        "as in the file"
    }
    done = tidegate_command("simulate", "evening-peek")
    assert (done.returncode, "evening-peak" in done.stderr) == (3, True)


def test_every_link_of_a_free_topology_gets_the_mechanism():
    base, other = variants_of("scenarios/cake-shaper.toml", mechanisms=["drr"]).values()
    assert {link["scheduler"]["kind"] for link in other.plan()["links"] if link["monitored"]} == {
        "drr"
    }
    assert base.run(1)["run"]["digest"] != other.run(1)["run"]["digest"]


def test_a_name_in_the_file_is_not_taken_for_a_mechanism():
    named = SMALL + '[variants.drr]\nbottleneck.rate = "5 Mb/s"\n'
    with pytest.raises(UsageError, match="the file has a variant of this name"):
        variants_of(named, mechanisms=["drr"])
    assert list(variants_of(VARIED, only=["fair"], mechanisms=["drr"])) == ["fair", "drr"]


def test_what_a_variant_settles_is_not_swept_and_set_with_a_warning(tidegate_command, tmp_path):
    settled = SMALL + '[variants.fast]\nbottleneck.rate = "50 Mb/s"\n'
    swept = settled + '[sweep]\n"bottleneck.rate" = ["5 Mb/s", "20 Mb/s"]\n'
    with pytest.raises(UsageError, match=r"variant fast sets bottleneck\.rate, which is swept"):
        tidegate.sweep(swept, out=tmp_path / "s")
    (tmp_path / "settled.toml").write_text(settled)
    given = ("simulate", "settled.toml", "--no-save", "-r", "1", "--set", "bottleneck.rate=5 Mb/s")
    assert "variant fast has its own bottleneck.rate" in tidegate_command(*given).stderr
