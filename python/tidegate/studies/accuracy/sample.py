"""Scenarios drawn at random: the ranges by which packets differ are measured on them."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import numpy as np

from tidegate.scenarios.reading import load_scenario
from tidegate.studies.accuracy.gate import Table, access_delay

if TYPE_CHECKING:
    from collections.abc import Callable

    from tidegate._native import Scenario

T = TypeVar("T")

COUNT, SEED = 1200, 20071
_PACKET_BITS = 12_000
_RTTS_MS = (10, 20, 40, 80, 150)
_MANY = (1, 2, 5, 10, 20)


class Draw:
    """Dice with the words that scenarios need."""

    def __init__(self, seed: int) -> None:
        self._dice = np.random.default_rng(seed)

    def one(self, *choices: T) -> T:
        """One of them, all alike."""
        return choices[int(self._dice.integers(len(choices)))]

    def happens(self, probability: float) -> bool:
        """Whether something of this probability does."""
        return bool(self._dice.random() < probability)


def scenarios(count: int = COUNT, seed: int = SEED) -> dict[str, Scenario]:
    """So many scenarios by name, of single links, prices, customers, and two links in a row."""
    draw = Draw(seed)
    found = {}
    for number in range(count):
        family = draw.one(*[_plain] * 7, *[_pricing] * 2, *[_customers] * 3, _two_links)
        found[f"{number}"] = load_scenario(family(draw))
    return found


def _base(draw: Draw, rate_mbps: int) -> Table:
    return {
        "version": 1,
        "profile": draw.one("classic", "linux"),
        "warm_up": "25 s",
        "duration": "40 s",
        "bottleneck": {
            "rate": f"{rate_mbps} Mb/s",
            "delay": "1 ms",
            "buffer": f"{draw.one(100, 300, 1000)} packets",
        },
        "tcp": {},
        "users": {},
    }


def _user(sender: str | Table, flows: int, rtt_ms: float) -> Table:
    access = {"delay": access_delay(rtt_ms)}
    return {"flows": flows, "access": access, "tcp": {"congestion_control": sender}}


def _plain(draw: Draw) -> Table:
    """One law or two, one round trip or two, marks or losses."""
    rate_mbps = draw.one(5, 10, 20)
    scenario = _base(draw, rate_mbps)
    link = scenario["bottleneck"]
    if draw.happens(0.25):
        link["scheduler"] = "dualpi2"
    else:
        link["aqm"] = _AQMS[draw.one("red", "red", "adaptive-red", "piecewise-linear", "pie")](draw)
    link["ecn"] = draw.happens(0.7)
    scenario["tcp"]["ecn"] = draw.happens(0.7)
    flows, rtt_ms = draw.one(*_MANY), draw.one(*_RTTS_MS)
    senders = [_sender(draw, rate_mbps, flows)]
    other_rtt_ms = rtt_ms
    match draw.one("alone", "alone", "round trips", "laws"):
        case "round trips":
            other_rtt_ms = draw.one(*_RTTS_MS)
            senders *= 2
        case "laws":
            senders.append(_sender(draw, rate_mbps, flows))
    rtts_ms = (rtt_ms, other_rtt_ms)
    for name, sender, own_rtt_ms in zip("ab", senders, rtts_ms, strict=False):
        scenario["users"][name] = _user(sender, flows, own_rtt_ms)
    return scenario


def _sender(draw: Draw, rate_mbps: int, flows: int) -> str | Table:
    kind = draw.one("reno", "cubic", "dctcp", "prague", "sbrm")
    if kind != "sbrm":
        return str(kind)
    return _paying(draw, kind, rate_mbps, flows, shares=(0.02, 0.1))


def _paying(
    draw: Draw, kind: str, rate_mbps: int, flows: int, *, shares: tuple[float, ...]
) -> Table:
    """One that pays for such a share of its part of the link."""
    own_pps = rate_mbps * 1e6 / _PACKET_BITS / flows
    return {"kind": kind, "willingness_to_pay": round(draw.one(*shares) * own_pps, 3)}


def _pricing(draw: Draw) -> Table:
    """Sources that pay, on queues that mark or ask a price."""
    rate_mbps = draw.one(5, 10, 20)
    scenario = _base(draw, rate_mbps)
    asks = draw.happens(0.5)
    kind = draw.one("pc1", "pc2", "pc3") if asks else draw.one("sbrm-queue", "red", "pie")
    scenario["bottleneck"] |= {"aqm": _AQMS[kind](draw), "ecn": True}
    scenario["price_encoding"] = "explicit"
    scenario["tcp"]["ecn"] = True
    sender = draw.one("direct-window", "vegas-cp") if asks else draw.one("sbrm", "tcp-rm")
    flows = draw.one(*_MANY[1:])
    shares = (0.01, 0.05, 0.1) if asks else (0.02, 0.06, 0.2)
    paying = _paying(draw, sender, rate_mbps, flows, shares=shares)
    rtt_ms = draw.one(*_RTTS_MS)
    scenario["users"]["a"] = _user(paying, flows, rtt_ms)
    if draw.happens(0.4):
        scenario["users"]["a"]["flows"] = flows // 2
        scenario["users"]["b"] = _user(paying, flows - flows // 2, draw.one(*_RTTS_MS))
    return scenario


def _customers(draw: Draw) -> Table:
    """A heavy user and light ones, where the queue tells customers apart."""
    rate_mbps = draw.one(5, 10, 20)
    scenario = _base(draw, rate_mbps)
    kind = draw.one("abc", "afcp", "icp", "aicp-a", "aicp-b")
    aqm = "red" if kind == "aicp-a" else draw.one("red", "piecewise-linear", "pie")
    ecn = draw.happens(0.3)
    scenario["bottleneck"] |= {"aqm": _AQMS[aqm](draw), "ecn": ecn}
    scenario["tcp"]["ecn"] = ecn
    sender, rtt_ms = draw.one("reno", "cubic"), draw.one(*_RTTS_MS)
    light_rtt_ms = draw.one(rtt_ms, rtt_ms, draw.one(*_RTTS_MS))
    heavy = _user(sender, draw.one(2, 5, 10), rtt_ms)
    light = {**_user(sender, 1, light_rtt_ms), "count": draw.one(1, 4, 10)}
    scenario["users"] = {"heavy": heavy, "light": light}
    if kind == "abc":
        own_mbps = rate_mbps / (1 + light["count"]) * draw.one(0.5, 1.0)
        meter = {
            "reference_rate": f"{own_mbps:.3f} Mb/s",
            "inertia": draw.one("20 ms", "1 s", "5 s"),
        }
        heavy["meter"] = light["meter"] = meter
        differentiation = {"kind": kind, "gamma": draw.one(1.0, 3.0)}
    else:
        fill_rate = draw.one("300 B/s", "1000 B/s", "3000 B/s", "10000 B/s", "100 kB/s")
        differentiation = {
            "kind": kind,
            "fill_rate": fill_rate,
            "depth": draw.one("10 kB", "50 kB"),
        }
        if kind.startswith("aicp"):
            differentiation["charge"] = "aqm"
        if kind == "icp":
            differentiation["curve"] = draw.one("step", "slope", "squared")
    scenario["bottleneck"]["differentiation"] = differentiation
    return scenario


def _two_links(draw: Draw) -> Table:
    """Two links in a row, with flows over both and over each."""
    scenario = _base(draw, 10)
    link = scenario.pop("bottleneck")
    aqm = _AQMS[draw.one("red", "pie", "adaptive-red")](draw)
    scenario["parking_lot"] = {**link, "hops": 2, "aqm": aqm, "ecn": True}
    scenario["tcp"]["ecn"] = True
    sender, rtt_ms = draw.one("reno", "cubic", "dctcp"), draw.one(*_RTTS_MS)
    ways = {"long": ("r0", "r2"), "first": ("r0", "r1"), "second": ("r1", "r2")}
    for name, (begin, end) in ways.items():
        user = _user(sender, draw.one(2, 5, 10), rtt_ms)
        scenario["users"][name] = {**user, "from": begin, "to": end}
    return scenario


def _red(draw: Draw) -> Table:
    low = draw.one(5, 10, 20, 40)
    return {
        "kind": "red",
        "min_threshold": f"{low} packets",
        "max_threshold": f"{draw.one(3, 4, 10) * low} packets",
        "max_probability": draw.one(0.02, 0.1, 0.5),
        "weight": draw.one(0.002, 0.01, 0.05),
        "gentle": draw.happens(0.7),
        "spacing": draw.one("uniform", "geometric"),
    }


def _adaptive_red(draw: Draw) -> Table:
    return {"kind": "adaptive-red", "target_delay": draw.one("5 ms", "20 ms", "50 ms")}


def _piecewise_linear(draw: Draw) -> Table:
    points = draw.one([[0, 0.0], [200, 1.0]], [[10, 0.0], [100, 0.2], [200, 1.0]])
    if draw.happens(0.3):
        return {"kind": "piecewise-linear", "function": "pf-11-17-24-0.01"}
    return {"kind": "piecewise-linear", "points": points}


def _pie(draw: Draw) -> Table:
    return {"kind": "pie", "target": draw.one("15 ms", "30 ms")}


def _sbrm_queue(draw: Draw) -> Table:
    target = f"{draw.one(5, 20, 50)} packets"
    price = draw.one("queue", "queue", "pc3")
    return {"kind": "sbrm-queue", "gamma": draw.one(0.006, 0.02, 0.05), "target": target} | {
        "price": price
    }


def _price_queue(kind: str) -> Callable[[Draw], Table]:
    def drawn(draw: Draw) -> Table:
        target = {} if kind == "pc1" else {"target": f"{draw.one(10, 30)} packets"}
        return {"kind": kind, "gamma": draw.one(0.001, 0.005, 0.02), **target}

    return drawn


_AQMS: dict[str, Callable[[Draw], Table]] = {
    "red": _red,
    "adaptive-red": _adaptive_red,
    "piecewise-linear": _piecewise_linear,
    "pie": _pie,
    "sbrm-queue": _sbrm_queue,
    **{kind: _price_queue(kind) for kind in ("pc1", "pc2", "pc3")},
}
