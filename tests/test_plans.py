"""The plan of a scenario in Python."""

import json

import tidegate

SCENARIO = """
version = 1
warm_up = "1 s"
duration = "1 min"
packet_size = "1000 B"
[tcp]
congestion_control = { kind = "cubic", slow_start_exit = "hystart" }
min_rto = "0.3 s"
[bottleneck]
rate = "10 Mb/s"
delay = "5 ms"
buffer = "75 kB"
aqm = { kind = "codel", target = "1500 us" }
rate_changes = [{ at = "20 s", rate = "3 Mb/s" }]
[users.heavy]
count = 2
flows = 3
start = { from = "0.1 s", to = "1 s" }
meter = { reference_rate = "1 Mb/s", meters = 2 }
[users.files]
traffic = { kind = "transfer", size = "1 MB", pause = "2 s" }
tcp = { congestion_control = "prague", delayed_ack = "off" }
[users.voice]
traffic = { kind = "cbr", rate = "64 kb/s" }
"""


def test_quantities_are_in_si_units_under_names_that_say_so():
    plan = tidegate.load_scenario(SCENARIO).plan()
    assert (plan["warm_up_s"], plan["duration_s"], plan["intervals"]) == (1.0, 60.0, 1)
    link = next(link for link in plan["links"] if link["name"] == "bottleneck")
    assert (link["rate_bps"], link["delay_s"]) == (10_000_000, 0.005)
    assert (link["buffer_packets"], link["buffer_bytes"]) == (None, 75_000)
    assert link["aqm"]["kind"] == "codel"
    assert link["aqm"]["target_s"] == 0.0015
    assert link["rate_changes"] == [{"at_s": 20.0, "rate_bps": 3_000_000}]


def test_flows_come_with_all_that_they_inherit():
    plan = tidegate.load_scenario(SCENARIO).plan()
    assert plan["groups"] == ["heavy", "files", "voice"]
    assert plan["user_groups"] == [0, 0, 1, 2]
    assert plan["user_customers"] == [0, 1, 2, 3]
    assert [flow["user"] for flow in plan["flows"]] == [0, 0, 0, 1, 1, 1, 2, 3]
    heavy, files, voice = plan["flows"][0], plan["flows"][6], plan["flows"][7]
    assert (heavy["start_from_s"], heavy["start_to_s"]) == (0.1, 1.0)
    assert heavy["packet_size_bytes"] == 1000
    assert heavy["tcp"]["congestion_control"] == {
        "kind": "cubic",
        "growth": "linux",
        "slow_start_exit": {"kind": "hystart"},
        "beta": None,
    }
    assert (heavy["tcp"]["min_rto_s"], files["tcp"]["min_rto_s"]) == (0.3, 0.3)
    assert (heavy["tcp"]["delayed_ack_s"], files["tcp"]["delayed_ack_s"]) == (0.04, None)
    assert (heavy["tcp"]["ecn"], files["tcp"]["ecn"]) == (False, True)
    assert files["tcp"]["congestion_control"] == {"kind": "prague", "reference_rtt_s": 0.025}
    assert (files["traffic"]["size_bytes"], files["traffic"]["pause_s"]) == (1_000_000, 2.0)
    assert voice["traffic"] == {
        "kind": "cbr", "rate_bps": 64_000, "lasts_s": None, "ecn": False, "conex": {"kind": "off"},
        "codec": None,
    }  # fmt: skip
    assert voice["tcp"] is None
    names = [plan["links"][link]["name"] for link in heavy["forward"]]
    assert names == ["heavy.0.access", "bottleneck"]


def test_stages_stand_where_a_flows_packets_pass_them():
    plan = tidegate.load_scenario(SCENARIO).plan()
    assert [stage["kind"] for stage in plan["stages"]] == ["activity-meter"] * 4
    first, second = plan["stages"][:2]
    assert first["reference_rate_bps"] == second["reference_rate_bps"] == 500_000
    assert first["inertia_s"] == 0.6
    assert plan["flows"][0]["attachments"] == [{"back": False, "hop": 1, "replicas": [0, 1]}]
    assert plan["flows"][6]["attachments"] == []
    assert plan["links"][0]["ingress"] == plan["links"][0]["egress"] == []


def test_a_plan_is_plain_data_and_the_same_for_the_file_that_says_all():
    scenario = tidegate.load_scenario(SCENARIO)
    plan = scenario.plan()
    assert json.loads(json.dumps(plan)) == plan
    assert tidegate.load_scenario(scenario.to_toml()).plan() == plan
