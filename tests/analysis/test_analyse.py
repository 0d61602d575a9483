"""A scenario in, answers out: what it is mapped to, and where no model applies."""

import json

import pytest
from support import ROOT

import tidegate
from tidegate.analysis import Red, Reno, critical_delay, fluid, stability
from tidegate.analysis.bottleneck import Bottleneck
from tidegate.analysis.show import paragraphs
from tidegate.analysis.views import VIEWS
from tidegate.errors import AnalysisError, ScenarioError, UsageError

# The dissertation's example: 30 Reno flows, 10,000 packets/s of 1000 B, 70 ms, RED gentle.
DISSERTATION = """\
version = 1
name = "dissertation"
profile = "classic"

[bottleneck]
rate = "80 Mb/s"
delay = "35 ms"
buffer = "2000 packets"
ecn = true

[bottleneck.aqm]
kind = "red"
min_threshold = "50 packets"
max_threshold = "550 packets"
max_probability = 0.1
weight = 1e-4
gentle = true
spacing = "geometric"

[access]
rate = "100 Gb/s"
delay = "0 ms"

[tcp]
ecn = true
congestion_control = "reno"

[users.all]
count = 30
packet_size = "1000 B"
"""


def analysed(view, **set_):
    return tidegate.analyse(
        DISSERTATION, view, set={k.replace("__", "."): v for k, v in set_.items()}
    )[view]


def test_a_scenario_is_mapped_to_the_dissertations_example():
    """Companion of the paper: critical delay of 61.6 ms, so that 70 ms swing."""
    # 70 ms of propagation, and 0.1 ms of transmission at the bottleneck.
    link = Bottleneck(capacity_pps=1e4, signal=Red(), sources=(Reno(count=30, base_rtt_s=0.0701),))
    found = analysed("stability").values
    assert not found["stable"]
    assert found["gain_margin"] == pytest.approx(float(stability(link).gain_margin), rel=1e-3)
    assert found["critical_base_rtt_s"] == pytest.approx(0.0616, abs=1e-4)
    critical = 0.0701 * float(critical_delay(link).factor)
    assert found["critical_base_rtt_s"] == pytest.approx(critical, rel=1e-3)
    [group] = analysed("equilibrium").tables["groups"]
    assert group["rate_bps"] == pytest.approx(80e6 / 30)
    assert group["window_packets"] == pytest.approx(
        float(link.equilibrium.window_packets[0]), rel=1e-3
    )


def test_the_fluid_says_the_same_as_the_loop():
    assert not analysed("fluid").values["settles"]
    assert analysed("fluid", bottleneck__delay="25 ms").values["settles"]
    assert analysed("stability", bottleneck__delay="25 ms").values["stable"]


def test_views_that_apply_come_first_and_the_others_say_why():
    found = tidegate.analyse(DISSERTATION)
    assert list(found.views) == list(VIEWS)
    assert list(found.answers) == ["optimum", "equilibrium", "stability", "fluid"]
    reported = found.to_dict()["views"]
    assert reported["blocking"] == {
        "applies": False,
        "key": "users.all.traffic",
        "reason": "no group sends at a constant rate, as calls do",
        "nearest": 'give a group traffic = { kind = "calls", … }, or "cbr", the rate of a call',
    }
    json.dumps(reported, allow_nan=False)


def test_tables_are_arrow_tables():
    tables = tidegate.analyse(DISSERTATION).tables
    assert {"stability", "equilibrium_groups", "equilibrium_links", "optimum_groups"} <= set(tables)
    assert tables["stability"].column_names[:2] == ["stable", "gain_margin"]


SILENT = [
    ({"bottleneck.aqm": {"kind": "drop-tail"}}, "bottleneck.aqm: drop-tail .*red"),
    ({"bottleneck.aqm": {"kind": "codel"}}, "bottleneck.aqm: codel .*transfer function.*red"),
    ({"tcp.congestion_control": "bbr"}, "users.all.tcp.congestion_control: bbr .*reno"),
    ({"bottleneck.loss": 0.01}, "bottleneck.loss: .*set it to 0"),
    ({"users.all.traffic": {"kind": "transfer", "size": "1 MB"}}, "users.all.traffic: .*greedy"),
    (
        {"bottleneck.aqm.gentle": False, "bottleneck.aqm.max_probability": 0.0001},
        "bottleneck.aqm: RED.s mean queue is at max_threshold",
    ),
    (
        {
            "users.all.shares_stages": True,
            "users.all.ingress": [
                {"kind": "conex-policer", "fill_rate": "720 kb/s", "depth": "67500 B"}
            ],
        },
        "users.all.shares_stages: one conex-policer .*leave it out",
    ),
    ({"users.all.count": 20000}, "users.all.flows: a window of 0.* is below one"),
    ({"bottleneck.rate": "2 Gb/s", "access.rate": "10 Mb/s"}, "bottleneck.rate: no link is full"),
]


@pytest.mark.parametrize(("settings", "sentence"), SILENT)
def test_where_no_model_applies_there_is_a_sentence_with_key_reason_and_remedy(settings, sentence):
    with pytest.raises(AnalysisError, match=sentence) as reported:
        tidegate.analyse(DISSERTATION, "equilibrium", set=settings)
    assert reported.value.exit_code == 3


def test_an_unknown_view_and_no_number_are_told():
    with pytest.raises(UsageError, match="no view 'balance'; there are optimum, equilibrium"):
        tidegate.analyse(DISSERTATION, "balance")
    with pytest.raises(ScenarioError, match=r"users\.all\.count"):
        tidegate.analyse(DISSERTATION, set={"users.all.count": 0})
    with pytest.raises(ScenarioError, match=r"bottleneck\.rate"):
        tidegate.analyse(DISSERTATION, set={"bottleneck.rate": float("nan")})


def test_delayed_acks_and_spacing_are_counted():
    """An ACK for two packets halves the growth; uniform spacing signals about twice as often."""
    plain = analysed("equilibrium").tables["groups"][0]["p"]
    delayed = analysed("equilibrium", tcp__delayed_ack="40 ms").tables["groups"][0]["p"]
    assert delayed == pytest.approx(plain / 2, rel=0.05)
    spread = analysed("equilibrium", bottleneck__aqm__spacing="uniform")
    met, output = spread.tables["groups"][0]["p"], spread.tables["links"][0]["p"]
    assert met == pytest.approx(2 * output / (1 + output))


def test_strained_assumptions_are_told():
    crowded = analysed("equilibrium", users__all__count=600, bottleneck__delay="5 ms").warnings
    assert any("a window of" in warning and "below 2" in warning for warning in crowded)
    small = analysed("equilibrium", bottleneck__buffer="40 packets").warnings
    assert any("does not fit into a buffer of 40" in warning for warning in small)


def test_what_several_links_with_dualpi2_are_taken_for_is_told(tmp_path):
    scenario = tmp_path / "lot.toml"
    scenario.write_text("""
version = 1
[parking_lot]
hops = 2
rate = "20 Mb/s"
delay = "5 ms"
buffer = "500 packets"
ecn = true
scheduler = { kind = "dualpi2" }
[users.all]
from = "r0"
to = "r2"
flows = 6
[users.some]
from = "r0"
to = "r1"
flows = 3
[users.others]
from = "r1"
to = "r2"
flows = 3
""")
    prague = {"users.all.tcp.congestion_control": "prague"}
    for view in ("equilibrium", "stability", "fluid"):
        reported = tidegate.analyse(scenario, view, set=prague).views[view]
        assert any("one queue with all others" in warning for warning in reported.warnings)
        assert "update_interval_s=0.015" in reported.mapped["link r0-r1"]
        classic = tidegate.analyse(scenario, view).views[view]
        assert not any("one queue with all others" in warning for warning in classic.warnings)


def test_the_fluid_of_every_kind_of_queue_settles_at_its_equilibrium():
    for aqm in (
        {"kind": "pie"},
        {"kind": "adaptive-red", "target_delay": "10 ms"},
        {"kind": "piecewise-linear", "points": [[20, 0.0], [2000, 1.0]]},
    ):
        set_ = {"bottleneck.aqm": aqm, "bottleneck.delay": "5 ms"}
        found = tidegate.analyse(DISSERTATION, set=set_)
        queue = found["equilibrium"].tables["links"][0]["queue_packets"]
        assert found["fluid"].values["settles"], aqm
        assert found["fluid"].values["mean_queue_packets"] == pytest.approx(queue, rel=0.03), aqm


@pytest.mark.parametrize("path", sorted(ROOT.glob("scenarios/*.toml")), ids=lambda path: path.stem)
def test_every_scenario_has_answers_or_sentences(path):
    found = tidegate.analyse(path)
    json.dumps(found.to_dict(), allow_nan=False)
    for one in found.views.values():
        assert one.applies or all((one.key, one.reason, one.nearest))


def test_the_command_prints_tables_and_json_and_ends_with_3_where_there_is_nothing(
    tidegate_command,
):
    (tidegate_command.folder / "d.toml").write_text(DISSERTATION)
    done = tidegate_command("analyse", "d.toml")
    assert done.returncode == 0, done.stderr
    for word in (
        "(6.5.1)",
        "gain margin",
        "capacity",
        "does not apply",
        "assumes",
    ):
        assert word in done.stdout
    found = tidegate_command.json("analyse", "d.toml", "equilibrium")
    [group] = found["views"]["equilibrium"]["groups"]
    assert {"group", "rate_bps", "window_packets", "p"} <= set(group)
    silent = tidegate_command("analyse", "d.toml", "activity")
    assert silent.returncode == 3
    assert silent.stderr.startswith("users.*.meter: no user has an activity meter; ")
    assert silent.stdout == ""


def test_a_folder_keeps_what_was_computed(tidegate_command):
    (tidegate_command.folder / "d.toml").write_text(DISSERTATION)
    done = tidegate_command("analyse", "d.toml", "--out", "kept")
    assert done.returncode == 0, done.stderr
    kept = {path.name for path in (tidegate_command.folder / "kept").iterdir()}
    assert {"analysis.json", "scenario.toml", "stability.parquet"} <= kept


def test_a_trajectory_begins_where_it_is_told():
    link = Bottleneck(capacity_pps=1e4, signal=Red(), sources=(Reno(count=30, base_rtt_s=0.05),))
    assert fluid(link, duration_s=1).window_packets[0, 0] == 1


def test_abc_over_tcp_is_mapped_from_a_scenario():
    """As the page of ABC and AICP over TCP; evening-peak's expectation is 1.0 beside 0.9 Mb/s."""
    path = ROOT / "scenarios/abc-on-pie.toml"
    heavy, light = tidegate.analyse(path, "equilibrium")["equilibrium"].tables["groups"]
    assert heavy["rate_bps"] == pytest.approx(0.98e6, rel=0.02)
    assert heavy["rate_bps"] + 10 * light["rate_bps"] == pytest.approx(10e6, rel=1e-6)
    assert heavy["p"] > light["p"]
    assert tidegate.analyse(path, "stability")["stability"].values["stable"]
    with pytest.raises(AnalysisError, match=r"users\.udp\.traffic: .*Reno's law"):
        tidegate.analyse(ROOT / "scenarios/udp-against-tcp.toml", "equilibrium")


def sbrm(rtt_ms, text=None, **more):
    """The dissertation's network with SBRM, at a base round trip."""
    queue = {"kind": "sbrm-queue", "gamma": 0.006, "target": "50 packets"}
    set_ = {
        "bottleneck.aqm": queue,
        "bottleneck.delay": f"{rtt_ms / 2 - 0.1:g} ms",
        "bottleneck.buffer": "5000 packets",
        "tcp.congestion_control": {"kind": "sbrm", "willingness_to_pay": 20},
        **more,
    }
    return tidegate.analyse(text or DISSERTATION, "stability", set=set_)["stability"]


def test_sbrm_is_judged_by_the_loop_with_the_ack_clock():
    """By (5.1.2) and (5.1.3) up to 132 ms, in place of 82: packets are calm so far."""
    assert sbrm(120).values["stable"]
    assert not sbrm(160).values["stable"]
    assert sbrm(120).values["critical_base_rtt_s"] == pytest.approx(0.132, rel=0.02)
    assert "ACK" in sbrm(120).model


def test_a_change_of_verdict_that_is_not_found_says_how_far_was_looked():
    calm = sbrm(10, **{"tcp.congestion_control": {"kind": "sbrm", "kappa": 0.0001}})
    assert calm.values["stable"]
    assert calm.values["critical_base_rtt_s"] is None
    assert calm.values["critical_base_rtt_beyond_s"] == pytest.approx(50 * 0.0099, rel=0.01)
    above, _ = paragraphs("stability", calm)
    assert "critical base rtt beyond 495" in above
    assert "critical base rtt none" not in above
    assert calm.values["critical_flows"] is None
    assert (
        calm.values["critical_flows_searched_from"] < 30 < calm.values["critical_flows_searched_to"]
    )


def test_the_one_number_of_several_round_trips_says_that_it_is_a_mean():
    far_too = DISSERTATION + '\n[users.far]\ncount = 10\npacket_size = "1000 B"\n'
    several = sbrm(60, far_too, **{"users.far.access.delay": "20 ms"})
    near, far = several.tables["groups"]
    mean = several.values["critical_mean_base_rtt_s"]
    assert "critical_base_rtt_s" not in several.values
    weighted = (30 * near["critical_base_rtt_s"] + 10 * far["critical_base_rtt_s"]) / 40
    assert mean == pytest.approx(weighted)
    assert any("all flows" in assumption for assumption in several.assumptions)


def test_weights_are_refused_by_every_view_instead_of_ignored():
    found = tidegate.analyse(ROOT / "scenarios/weights.toml")
    assert not found.answers
    assert all(one.key.endswith(".weight") for one in found.silences.values())
