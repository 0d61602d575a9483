"""Parameters for a link: the rule, and the variants that have them."""

import json
import math
import tomllib
from pathlib import Path

import pytest

import tidegate
from tidegate.analysis.choosing import Known, choose, known_of, variants
from tidegate.errors import AnalysisError

CASES = [Path(f"studies/metering/experiments/{name}.toml") for name in ("cases", "first")]


def test_a_light_user_causes_two_thirds_of_the_allowance_at_an_equal_share():
    # 100 packets a second for each flow. RED marks a tenth at 30 ms, and windows of 3.2 meet that.
    window = (math.sqrt(1 + 80 / 3) - 1) * 3 / 4
    known = Known(rate_bps=12e6, users=10, flows=2, light_flows=1, rtt_s=window / 100 - 0.03)
    chosen = choose(known)
    assert chosen.queue_s == pytest.approx(0.03)
    assert chosen.conex_fill_bps == pytest.approx(1.5 * 0.1 * 100 * 12_000)
    assert chosen.conex_depth_bytes == pytest.approx(150 * 1500)
    assert chosen.abc_reference_bps == pytest.approx(75_000)
    assert chosen.cap_bps == pytest.approx(2.4e6)
    assert chosen.share_bps == pytest.approx(1.2e6)


def test_more_flows_of_a_light_user_cause_more_and_buckets_are_never_tiny():
    known = {"rate_bps": 48e6, "users": 10, "flows": 4, "rtt_s": 0.05}
    fills = [choose(Known(light_flows=flows, **known)).conex_fill_bps for flows in (1, 2, 4)]
    assert fills[0] < fills[1] / 2 < fills[2] / 4
    long = Known(rate_bps=1e9, users=10, flows=1, light_flows=1, rtt_s=0.3)
    assert choose(long).conex_depth_bytes == 45 * 1500


def test_windows_below_a_packet_meet_at_most_every_packet():
    short = Known(rate_bps=0.12e6, users=10, flows=1, light_flows=1, rtt_s=0.001)
    chosen = choose(short)
    assert chosen.queue_s == 0.06
    assert chosen.conex_fill_bps == pytest.approx(1.5 * 12_000)


def test_gamma_is_the_largest_that_leaves_a_margin():
    many = Known(rate_bps=10e6, users=20, flows=5, light_flows=1, rtt_s=0.1)
    chosen = choose(many)
    assert chosen.abc_gamma < 3
    assert chosen.abc_margin >= 2
    few = choose(Known(rate_bps=10e6, users=12, flows=1, light_flows=1, rtt_s=0.04))
    assert few.abc_gamma == 3


@pytest.mark.parametrize("change", [{"users": 0}, {"rtt_s": float("nan")}, {"flows": 0.5}])
def test_what_cannot_be_is_refused(change):
    known = {"rate_bps": 1e7, "users": 9, "flows": 2, "light_flows": 1, "rtt_s": 0.1}
    with pytest.raises(AnalysisError):
        choose(Known(**{**known, **change}))


def test_a_scenario_says_what_an_operator_knows():
    known = known_of(tidegate.load_scenario("scenarios/evening-peak.toml"))
    assert (known.rate_bps, known.users, known.light_flows) == (10e6, 12, 1)
    assert known.flows == pytest.approx(21 / 12)
    assert known.rtt_s == pytest.approx(0.0402)


@pytest.mark.parametrize("name", ["parking-lot", "two-cbr-users"])
def test_a_scenario_without_one_bottleneck_or_users_with_tcp_is_refused(name):
    with pytest.raises(AnalysisError):
        known_of(tidegate.load_scenario(f"scenarios/{name}.toml"))


def test_each_choice_is_a_variant_that_holds_the_heavy_user():
    scenario = tidegate.load_scenario("scenarios/evening-peak.toml")
    named = variants(scenario, choose(known_of(scenario)))
    assert list(named) == ["red", "abc", "conex", "cap", "cake"]
    ratio = {}
    for name, keys in named.items():
        result = tidegate.simulate(scenario, set=keys, replications=1)
        per_user = {row["group"]: row["throughput_bps"] for row in result.groups.to_pylist()}
        ratio[name] = per_user["heavy"] / per_user["light"]
    assert ratio.pop("red") > 8
    assert max(ratio.values()) < 2.5, ratio


def test_the_command_prints_numbers_and_a_scenario_with_variants(tidegate_command):
    printed = tidegate_command("choose", "evening-peak", "--format", "json")
    assert json.loads(printed.stdout)["chosen"]["abc_gamma"] == 3
    text = tidegate_command("choose", "evening-peak", "--variants").stdout
    assert list(tomllib.loads(text)["variants"]) == ["red", "abc", "conex", "cap", "cake"]
    again = tidegate_command.folder / "chosen.toml"
    again.write_text(text)
    refused = tidegate_command("choose", "chosen.toml", "--variants")
    assert refused.returncode == 2
    assert "variants of these names: abc, cake, cap, conex, red" in refused.stderr


def test_the_page_shows_what_the_command_prints(tidegate_command):
    page = Path("docs/how-to/choose.md").read_text(encoding="utf-8")
    assert f"```text\n{tidegate_command('choose', 'evening-peak').stdout}```" in page


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_the_cases_of_the_study_have_what_the_rule_gives(path):
    (series,) = tomllib.loads(path.read_text())["series"].values()
    key, cases = next(iter(series["factors"].items()))
    for case in cases:
        one = dict(zip(key.split("/"), case, strict=True))
        light = one["near"] + one["far"]
        users = one["heavy"] + light
        flows = one["heavy"] * one["heavy_flows"] + light * one["light_flows"]
        chosen = choose(
            Known(
                rate_bps=one["share_mbps"] * users * 1e6,
                users=users,
                flows=flows / users,
                light_flows=one["light_flows"],
                rtt_s=one["rtt_ms"] / 1e3,
            )
        )
        assert one["fill_kbps"] == pytest.approx(chosen.conex_fill_bps / 1e3, abs=0.051)
        assert one["depth_kb"] == pytest.approx(chosen.conex_depth_bytes / 1e3, abs=0.051)
        assert one["gamma"] == chosen.abc_gamma
