"""Congestion control of our own in a real kernel: short, and only with root and `tidegate-bpf`."""

import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

import pytest
from support import comes, lab_that_counts, lacking_for_controls

import tidegate
from tidegate.errors import OfferError
from tidegate.laboratory import bpf, offers
from tidegate.laboratory.process import find_program

LACKING = lacking_for_controls()
pytestmark = [
    pytest.mark.skipif(bool(LACKING), reason=f"not on this machine: {'; '.join(LACKING)}"),
    pytest.mark.xdist_group("controls"),
    pytest.mark.usefixtures("own_turn"),
]
SCENARIO = Path(__file__).parents[2] / "scenarios" / "lab" / "sbrm.toml"
OURS = {"tg_sbrm", "tg_tcprm", "tg_vegascp"}


def registered():
    """Ours, for others may come at any time."""
    known = Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text().split()
    return OURS.intersection(known)


def programs():
    """Our programs in the kernel, by their numbers."""
    shown = subprocess.run(["bpftool", "prog", "show"], capture_output=True, text=True, check=True)
    return {line.split(":")[0] for line in shown.stdout.splitlines() if "tg_sbrm" in line}


@pytest.fixture
def before_held(own_turn):
    """What other runs have in the kernel; `None` without the means to look."""
    try:
        return programs()
    except (OSError, subprocess.CalledProcessError):
        return None


@pytest.fixture
def held(own_turn):
    """The program as the lab starts it, once it is ready."""
    assert not registered()
    process = subprocess.Popen(
        [find_program(bpf.PROGRAM), "hold"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    with process:
        assert process.stdout.readline() == "ready\n"
        assert registered() == OURS
        yield process
        process.kill()
    assert comes(lambda: not registered())


@pytest.mark.parametrize("how", ["kill", "terminate", "end of input"])
def test_nothing_is_left_however_it_ends(held, how):
    if how == "end of input":
        held.stdin.close()
    else:
        getattr(held, how)()
    held.wait()
    assert comes(lambda: not registered())


def test_no_program_is_left_after_a_kill(before_held, held):
    if before_held is None:
        pytest.skip("there is no bpftool to look with")
    ours = programs() - before_held
    assert ours
    held.kill()
    held.wait()
    assert comes(lambda: not programs() & ours)


def test_a_second_one_is_told_that_the_name_is_taken(held):
    done = subprocess.run([*held.args[:1], "check"], capture_output=True, text=True)
    assert done.returncode == 1
    assert "another run" in done.stderr


VEGAS_CP = {"kind": "vegas-cp", "slow_start": False}
BY_MARKS = {"price_encoding": {"kind": "one-bit", "base": 1.06}}


# TCP/RM's rates go as the root of an offer.
@pytest.mark.parametrize(
    ("control", "paid", "more"),
    [
        ({"kind": "sbrm"}, (100, 200, 300), {}),
        ({"kind": "tcp-rm"}, (100, 400, 900), {}),
        (VEGAS_CP, (1000, 2000, 3000), BY_MARKS),
    ],
    ids=["sbrm", "tcp-rm", "vegas-cp"],
)
def test_rates_follow_what_flows_offer(control, paid, more):
    offers = {
        f"users.{group}.tcp.congestion_control": {**control, "willingness_to_pay": offer}
        for group, offer in zip(("low", "middle", "high"), paid, strict=True)
    }
    # Whose connection request is lost has no ECN else, and pays nothing.
    of_all = {"tcp.congestion_control": control, "tcp.ecn_fallback": False, **more}
    shorter = {"warm_up": "5 s", "duration": "10 s"}
    result = lab_that_counts(tidegate.load_scenario(SCENARIO, set={**offers, **of_all, **shorter}))
    assert comes(lambda: not registered())
    (bottleneck,) = [link for link in result.links.to_pylist() if link["name"] == "bottleneck"]
    assert bottleneck["marks"] > 0
    assert bottleneck["utilization"] > 0.8
    low, middle, high = result.flows["throughput_bps"].to_pylist()
    # Near 1 : 2 : 3 when the machine has time; here the order counts, on any machine.
    assert low < middle < high


def test_a_window_of_a_packet_and_a_half_sends_what_it_pays_for():
    """Of whole packets it would be one, and half of what a flow far away has: ACKs are delayed."""
    groups = [f"users.{where}-{offer}" for where in ("near", "far") for offer in (1, 2, 4)]
    virtual = {"kind": "virtual-queue", "scale": 0.9, "capacity": "50 packets"}
    changes = {
        **{f"{group}.tcp.congestion_control.kappa": 0.05 for group in groups},
        "bottleneck.aqm": virtual,
        "price_encoding": {"kind": "maximum"},
        "tcp.ecn_fallback": False,
        "duration": "10 s",
    }
    weights = SCENARIO.with_name("weights.toml")
    result = lab_that_counts(tidegate.load_scenario(weights, set=changes))
    rates = {flow["group"]: flow["throughput_bps"] for flow in result.flows.to_pylist()}
    # 1.07 in runs of 30 s, 0.44 without pacing.
    assert rates["near-1"] > 0.75 * rates["far-1"]
    assert rates["near-1"] < rates["near-2"] < rates["near-4"]


def delivered(*sockets):
    """Packets that each has delivered so far."""
    now = {(one.pid, one.fd): one.delivered for one in offers.payers({s.pid for s in sockets})}
    return [now[one.pid, one.fd] for one in sockets]


def paying(many):
    """The sockets that send and pay."""
    all_ = offers.payers(offers.processes())
    found = [one for one in all_ if one.control == "tg_sbrm" and one.delivered > many]
    return sorted(found, key=lambda one: one.remote)


def test_an_offer_that_is_changed_takes_effect_within_five_seconds():
    """Of three flows that pay alike one pays four times as much from some time on, unasked."""
    changes = {
        **{f"users.{each}.tcp": {} for each in ("low", "middle", "high")},
        "tcp.congestion_control": {"kind": "sbrm", "willingness_to_pay": 100},
        "tcp.ecn_fallback": False,
        "warm_up": "1 s",
        "duration": "23 s",
    }
    scenario = tidegate.load_scenario(SCENARIO, set=changes)
    with ThreadPoolExecutor(1) as pool:
        run = pool.submit(tidegate.lab, scenario, replications=1)
        looks = [time.monotonic()]
        while len(found := paying(500)) != 3 and not run.done():
            time.sleep(0.1)
            looks.append(time.monotonic())
        moments, rates = [time.monotonic()], []
        with suppress(IndexError, KeyError, OfferError):  # where the run is over already
            offers.offer(found[0], 400.0)
            for pause_s in (5, 4):
                time.sleep(pause_s)
                rates.append(delivered(*found))
                moments.append(time.monotonic())
        result = run.result()
    longest_s = max(later - sooner for sooner, later in pairwise([*looks, moments[0]]))
    if result.invalid or longest_s > 5:
        pytest.skip(f"the machine is too busy: {longest_s} s, {result.invalid}")
    assert len(found) == 3
    if moments[0] - looks[0] > 10 or moments[-1] - moments[0] > 11:
        pytest.skip(f"the machine is too busy: {looks[0]}, {moments}")
    assert len(rates) == 2
    before, after = rates
    (most, *rest) = [later - sooner for sooner, later in zip(before, after, strict=True)]
    # Four times as much when the machine has time; here twice will do, on any machine.
    assert most > 2 * max(rest), (most, rest)


PRICES = {
    "bottleneck.aqm": {"kind": "pc3", "target": "10 packets"},
    "tcp.congestion_control": "cubic",
    **{f"users.{each}.tcp": {} for each in ("low", "middle", "high")},
}


@pytest.mark.parametrize(
    "changes",
    [
        {**PRICES, "price_encoding": {"kind": "explicit"}},
        {**PRICES, "price_encoding": {"kind": "four-bit"}},
    ],
    ids=["explicit", "four bits"],
)
def test_prices_that_no_header_has_room_for_are_refused(changes):
    with pytest.raises(
        tidegate.ScenarioError, match="room for one bit, the mark of ECN"
    ) as reported:
        tidegate.lab(tidegate.load_scenario(SCENARIO, set=changes), replications=1)
    assert reported.value.exit_code == 3
