"""Scenarios on the kernel in virtual time: what it is told, and what is made of its answer."""

import pytest
from support import ROOT

from tidegate.errors import UsageError
from tidegate.scenarios.reading import parse
from tidegate.studies.fidelity.scenarios import cases
from tidegate.studies.fidelity.virtual import Measured, Plan, numbers, run
from tidegate.studies.oracle import kernel

SCENARIO = """\
version = 1
warm_up = "1 s"
duration = "2 s"
sample_interval = "off"

[bottleneck]
rate = "10 Mb/s"
delay = "5 ms"
buffer = "50 packets"

[access]
delay = "1 ms"

[users.near]
count = 2

[users.far]
access = { delay = "20 ms" }
tcp = { congestion_control = "reno" }
traffic = { kind = "transfer", size = "10 kB", pause = "1 s" }
"""

# Two flows of "near" and one of "far": counts at the beginning and at the end.
WRITTEN = """\
s 0 6000 10 15000 1 0 0
k 0 5 3
n 0 s0 Tcp: RtoMin RetransSegs
n 0 s0 Tcp: 200 7
n 0 s0 TcpExt: TCPTimeouts TCPDelivered
n 0 s0 TcpExt: 1 99
s 1 6000 110 165000 3 10 15000
s 1 6001 50 75000 0 0 0
s 1 6002 25 37500 0 0 0
k 1 15 13
n 1 s0 Tcp: RtoMin RetransSegs
n 1 s0 Tcp: 200 10
n 1 s0 TcpExt: TCPTimeouts TCPDelivered
n 1 s0 TcpExt: 3 300
t 2 500000000 250000000
t 2 1500000000 350000000
q 4 10
"""


def plan(*settings):
    return Plan.of(parse(SCENARIO, settings))


def test_the_answer_of_the_kernel_becomes_the_numbers_of_a_run(tmp_path):
    (tmp_path / "measured").write_text(WRITTEN)
    found = numbers(plan(), Measured.read(tmp_path / "measured"))
    # Sent 100 + 50 + 25, dropped 10, and the queue is 10 packets longer than it was.
    assert found["loss_ratio"] == pytest.approx((10 + 10) / (175 + 10 + 10))
    assert found["mark_ratio"] == pytest.approx(2 / 195)
    assert found["utilization"] == pytest.approx(175 * 1500 * 8 / 2 / 10e6)
    assert found["queue_packets"] == pytest.approx(2.5 + found["utilization"])
    # Per user and without what the wire lost: (90 + 50) / 2 packets against 25.
    assert found["ratio"] == pytest.approx(70 / 25)
    assert found["completion_s"] == pytest.approx(0.3)
    assert (found["retransmits"], found["timeouts"]) == (3, 2)


def test_each_group_has_its_own_round_trip_controller_and_ecn():
    reported = plan(("users.near.tcp.ecn", "true")).commands()
    assert "dev r0 root netem limit 100000 delay 12000us" in reported
    assert "dev r1 root netem limit 100000 delay 50000us" in reported
    assert "netns/s0 bash -c" in reported
    assert [line.split("'")[1].endswith(f"echo {ecn} >/proc/sys/net/ipv4/tcp_ecn")
            for ecn, line in zip((1, 1, 0), [x for x in reported.splitlines() if "nsenter" in x],
                                 strict=True)] == [True] * 3  # fmt: skip
    flows = plan().flows(1)
    assert [(f.namespace, f.control) for f in flows] == [
        ("s0", "cubic"), ("s0", "cubic"), ("s1", "reno"),
    ]  # fmt: skip
    assert (flows[2].size_bytes, flows[2].pause_ns) == (10_000, 10**9)


def test_flows_start_at_random_within_the_first_second_and_alike_for_a_seed():
    starts = [[flow.start_ns for flow in plan().flows(seed)] for seed in (1, 1, 2)]
    assert starts[0] == starts[1] != starts[2]
    assert all(0 <= at <= 10**9 for at in starts[0] + starts[2])


@pytest.mark.parametrize(
    ("settings", "discipline"),
    [
        ([], "pfifo limit 49"),
        ([("aqm", '{ kind = "codel" }')], "codel limit 49 target 5000us interval 100000us noecn"),
        (
            [("aqm", '{ kind = "pie" }'), ("ecn", "true")],
            "pie limit 49 target 15000us tupdate 15000us ecn",
        ),
        (
            [("scheduler", '{ kind = "fq-codel" }')],
            "fq_codel limit 49 flows 1024 quantum 1514 target 5000us interval 100000us noecn",
        ),
    ],
)
def test_the_queue_is_the_kernels_own(settings, discipline):
    assert plan(*((f"bottleneck.{key}", value) for key, value in settings)).discipline() == (
        discipline
    )


@pytest.mark.parametrize(
    "setting",
    [
        ("bottleneck.aqm", '{ kind = "piecewise-linear", function = "pf-11-17-24-0.01" }'),
        ("bottleneck.rate_changes", '[{ at = "1 s", rate = "3 Mb/s" }]'),
        ("users.near.traffic", '{ kind = "cbr", rate = "1 Mb/s" }'),
        ("packet_size", "1000 B"),
        (
            "bottleneck.aqm",
            '{ kind = "red", min_threshold = "30 kB", max_threshold = "90 kB", weight = 0.002 }',
        ),
    ],
)
def test_what_the_kernel_cannot_do_is_refused(setting):
    with pytest.raises(UsageError):
        plan(setting)


def test_enough_scenarios_are_held_out_and_the_kernel_can_play_them_all():
    found = [case for case in cases(ROOT) if case.held_out]
    assert len(found) >= 12
    for case in found:
        assert Plan.of(case.scenario).commands()
        assert case.can_be_simulated
    reported = {Plan.of(case.scenario).discipline().split()[0] for case in found}
    assert reported == {"pfifo", "red", "codel", "pie", "fq_codel"}
    controls = {flow.control for case in found for flow in Plan.of(case.scenario).flows(1)}
    assert controls == {"reno", "cubic", "dctcp"}


@pytest.mark.skipif(kernel.missing() is not None, reason=kernel.missing() or "")
def test_the_kernel_plays_a_scenario_alike_for_a_seed():
    scenario = parse(SCENARIO, [("bottleneck.loss", "0.01")])
    linux = kernel.Kernel(ROOT)
    first, again, other = (run(linux, scenario, seed) for seed in (1, 1, 2))
    assert first == again
    assert first != other
    assert 0.5 < first["utilization"] <= 1.0
    assert 0.0 < first["loss_ratio"] < 0.1
    assert first["completion_s"] > 0.05
