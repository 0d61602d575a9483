"""Parameters to begin with: what an operator sets for a link, from what is known of it.

Known are the link's rate C, the N users that are active at once and how many flows they have on
average, and the round trip. An equal share is ``x = C/N``. A light user's k flows would have
windows of ``w = x (RTT + q)/k`` there, with the queue q where RED marks as much as sawtooths from
2 w/3 to 4 w/3 meet, one mark each::

    p = 1/(w + 2 w²/3) = RED(q)

    ConEx  fill rate 1.5 p x; depth 10 s of it, at least 45 packets
    ABC    reference rate x/16; γ 3, or the largest that leaves a gain margin of 2
    cap    2 x

The policer drops packets that declare, and charges those that it lets pass: each declaration
once. So the packets of a user above the allowance meet no more marks than it allows, and where
others have about their share, and meet p, the user is left with one and a half. The constants were
chosen on other links than those on which studies/metering judges the rule.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tidegate.errors import AnalysisError

if TYPE_CHECKING:
    from tidegate._native import Scenario
    from tidegate.analysis.red import Red

ALLOWANCE = 1.5
"""Of what a light user causes at an equal share."""
BUCKET_S = 10.0
LEAST_DEPTH_PACKETS = 45.0
"""The bucket of the ConEx paper."""
BELOW_SHARE = 16.0
"""An equal share over the reference rate: four doublings, as in the ABC paper."""
CAP = 2.0
"""Of an equal share."""
GAMMAS = (3.0, 2.5, 2.0, 1.5, 1.0)
LEAST_MARGIN = 2.0
INERTIA_S = 0.6
PACKET_BITS = 12_000
RED_MS = (10, 30)
"""Thresholds of RED where the link has no queue that signals by a probability."""


@dataclass(frozen=True, kw_only=True)
class Known:
    """What an operator knows of a link."""

    rate_bps: float
    users: int
    """Active at once."""
    flows: float
    """Of a user, on average."""
    light_flows: float
    """Of a user who is not to be held back."""
    rtt_s: float
    """Without the queue."""


@dataclass(frozen=True, kw_only=True)
class Choice:
    """What to set."""

    share_bps: float
    """An equal share."""
    queue_s: float
    """What the queue adds when all have one."""
    conex_fill_bps: float
    """Congestion that a user may declare, in bits of full packets."""
    conex_depth_bytes: float
    abc_reference_bps: float
    abc_gamma: float
    abc_inertia_s: float
    abc_margin: float | None
    """Gain margin of users against each other; None where no model applies."""
    cap_bps: float


def choose(known: Known) -> Choice:
    """Return what to set for a link.

    >>> link = Known(rate_bps=10e6, users=12, flows=1.75, light_flows=1, rtt_s=0.04)
    >>> chosen = choose(link)
    >>> round(chosen.conex_fill_bps), round(chosen.conex_depth_bytes)
    (75009, 93761)
    >>> round(chosen.abc_reference_bps), chosen.abc_gamma
    (52083, 3.0)

    Raises
    ------
    AnalysisError
        Where what is known cannot be.
    """
    _check(known)
    met, queue_s = _met_at_a_share(known)
    fill = ALLOWANCE * met * known.rate_bps / known.users / PACKET_BITS
    share = known.rate_bps / known.users
    gamma, margin = _gamma(known)
    return Choice(
        share_bps=share,
        queue_s=queue_s,
        conex_fill_bps=fill * PACKET_BITS,
        conex_depth_bytes=max(LEAST_DEPTH_PACKETS, BUCKET_S * fill) * PACKET_BITS / 8,
        abc_reference_bps=share / BELOW_SHARE,
        abc_gamma=gamma,
        abc_inertia_s=INERTIA_S,
        abc_margin=margin,
        cap_bps=min(CAP * share, known.rate_bps),
    )


def _check(known: Known) -> None:
    wrong = [
        f"{name} has to be above 0, not {value:g}"
        for name, value in vars(known).items()
        if not (value > 0 and math.isfinite(value))
    ]
    if known.flows < known.light_flows:
        wrong.append("users have at least the flows of a light one on average")
    if wrong:
        raise AnalysisError("; ".join(wrong))


def _met_at_a_share(known: Known) -> tuple[float, float]:
    """Share of their packets that light users meet marked at an equal share, and the queue."""
    import numpy as np
    from scipy.optimize import brentq

    red = _red(known)
    capacity_pps = known.rate_bps / PACKET_BITS
    flow_pps = capacity_pps / (known.users * known.light_flows)

    def met(queue_s: float) -> float:
        window = flow_pps * (known.rtt_s + queue_s)
        return 1 / (window + 2 * window**2 / 3)

    def surplus(queue_s: float) -> float:
        return float(red.probability(np.asarray(queue_s * capacity_pps))) - met(queue_s)

    # Gentle RED marks all packets at twice the upper threshold.
    full_s = 2 * RED_MS[1] / 1e3
    queue_s = full_s if surplus(full_s) < 0 else brentq(surplus, RED_MS[0] / 1e3, full_s)
    return min(met(queue_s), 1.0), queue_s


def _red(known: Known) -> Red:
    from tidegate.analysis.red import Red

    low, high = (ms / 1e3 * known.rate_bps / PACKET_BITS for ms in RED_MS)
    return Red(min_threshold_packets=low, max_threshold_packets=high, max_probability=0.1)


def _gamma(known: Known) -> tuple[float, float | None]:
    """The largest γ at which users' activities settle by the model, and its gain margin."""
    from tidegate.analysis.abc_loop import own_margins
    from tidegate.analysis.abc_tcp import AbcOverTcp
    from tidegate.analysis.customers import CustomerGroup
    from tidegate.analysis.padhye import Padhye

    capacity_pps = known.rate_bps / PACKET_BITS
    reference = capacity_pps / known.users / BELOW_SHARE
    margin = None
    for gamma in GAMMAS:
        link = AbcOverTcp(
            capacity_pps=capacity_pps,
            signal=_red(known),
            customers=(
                CustomerGroup(
                    count=known.users,
                    flows=Padhye(count=known.flows, base_rtt_s=known.rtt_s),
                    reference_pps=reference,
                ),
            ),
            gamma=gamma,
            inertia_s=INERTIA_S,
        )
        try:
            (own,) = own_margins(link)
        except AnalysisError:
            return GAMMAS[0], None
        if own is None:
            return GAMMAS[0], None
        margin = float(own.gain_margin)
        if margin >= LEAST_MARGIN:
            return gamma, margin
    return GAMMAS[-1], margin


def known_of(scenario: Scenario) -> Known:
    """Return what a scenario with one bottleneck says of its link and its users.

    Users are those with TCP; a user within half of them has the flows of a light one. The round
    trip is that of a user in the middle.

    Raises
    ------
    AnalysisError
        Where there are several bottlenecks, or none, or fewer than two users with TCP.
    """
    plan = scenario.plan()
    links = plan["links"]
    bottlenecks = [link for link in links if link["monitored"]]
    if len(bottlenecks) != 1:
        names = ", ".join(link["name"] for link in bottlenecks) or "none"
        raise AnalysisError(f"one bottleneck is chosen for; this scenario has {names}")
    flows: dict[int, int] = {}
    round_trips: dict[int, float] = {}
    for flow in plan["flows"]:
        if flow["tcp"] is None:
            continue
        customer = plan["user_customers"][flow["user"]]
        flows[customer] = flows.get(customer, 0) + 1
        way = [*flow["forward"], *flow["reverse"]]
        round_trips[customer] = sum(links[number]["delay_s"] for number in way)
    if len(flows) < 2:
        raise AnalysisError("at least two users with TCP are needed: one has the link to himself")
    return Known(
        rate_bps=bottlenecks[0]["rate_bps"],
        users=len(flows),
        flows=sum(flows.values()) / len(flows),
        light_flows=_middle(list(flows.values())),
        rtt_s=_middle(list(round_trips.values())),
    )


def _middle(values: list[float] | list[int]) -> float:
    return float(sorted(values)[(len(values) - 1) // 2])


def variants(scenario: Scenario, choice: Choice) -> dict[str, dict[str, Any]]:
    """Return keys and values of a variant for each mechanism, and for a cap and a plain queue.

    Values are as a scenario file has them. ABC and ConEx stand on RED with thresholds at 10 and
    30 ms, which is the variant ``red``; ConEx takes senders and a link with ECN, and the cap is a
    shaper for each user.
    """
    from tidegate._native import toml_key

    link = next(link for link in scenario.plan()["links"] if link["monitored"])
    name = "bottleneck" if link["name"] == "bottleneck" else f"links.{toml_key(link['name'])}"
    low, high = (max(2, round(ms / 1e3 * link["rate_bps"] / PACKET_BITS)) for ms in RED_MS)
    queue = {
        f"{name}.scheduler": "fifo",
        f"{name}.aqm": {
            "kind": "red", "min_threshold": f"{low} packets", "max_threshold": f"{high} packets",
            "gentle": True,
        },
        f"{name}.differentiation": "none",
    }  # fmt: skip
    users = [f"users.{toml_key(group)}" for group in scenario.groups]
    meter = {"reference_rate": _rate(choice.abc_reference_bps), "inertia": "600 ms"}
    policer = {
        "kind": "conex-policer", "fill_rate": f"{choice.conex_fill_bps / 1e3:.3g} kb/s",
        "depth": f"{choice.conex_depth_bytes / 1e3:.3g} kB",
        "drops": "declared", "charge_dropped": False,
    }  # fmt: skip
    cap = {"kind": "shaper", "rate": _rate(choice.cap_bps), "burst": "15 kB"}
    return {
        "red": queue,
        "abc": queue
        | {f"{name}.differentiation": {"kind": "abc", "gamma": choice.abc_gamma}}
        | {f"{user}.meter": meter for user in users},
        "conex": queue
        | {f"{name}.ecn": True, "tcp.ecn": True, "tcp.conex": "per-signal"}
        | {"tcp.feedback": "accurate"}
        | {f"{user}.ingress": [policer] for user in users},
        "cap": queue | {f"{user}.ingress": [cap] for user in users},
        "cake": {
            f"{name}.scheduler": {"kind": "cake", "isolation": "dual-host"},
            f"{name}.aqm": "drop-tail", f"{name}.differentiation": "none",
        },
    }  # fmt: skip


def _rate(bps: float) -> str:
    return f"{bps / 1e6:.3g} Mb/s"
