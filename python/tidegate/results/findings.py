"""What a result says of itself: where packets were dropped, and what makes its numbers doubtful."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tidegate.results.arrow import inverted, rows_where, texts
from tidegate.results.quantities import LINK_DROPS
from tidegate.results.tables import numbers

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from tidegate.results.result import Result

BUSY = 0.8
"""Utilisation above which a link is listed."""

_REASONS = {
    "drops_full": "buffer full",
    "drops_aqm": "AQM",
    "drops_wire": "lost on the wire",
    "drops_policer": "policer",
}
_DROPPED = "dropped: "
_HOLDING_TIMES = 3
_ABOVE = ("above rate", "above peak rate")
_MOST_POLICED = 0.01
_MOST_NAMED = 3


class Drops(NamedTuple):
    """Packets dropped at one place for one reason, mean over runs."""

    place: str
    """Name of the link or stage."""
    reason: str
    packets: float
    is_bottleneck: bool
    """The place is the queue of a bottleneck."""


class BusyLink(NamedTuple):
    """A link beside the bottlenecks that drops, marks, or is nearly fully used; mean over runs."""

    name: str
    utilization: float
    drops: float
    marks: float


def drops(result: Result) -> list[Drops]:
    """Return all drops by place and reason, most packets first."""
    runs = max(result.replications, 1)
    found = []
    links = result.links
    names = np.asarray(texts(links["name"]).to_pylist(), dtype=object)
    monitored = np.asarray(links["monitored"].to_pylist(), dtype=bool)
    for column in LINK_DROPS:
        dropped = numbers(links, column)
        for name in _unique(names[dropped > 0]):
            of_link = names == name
            packets = float(dropped[of_link].sum()) / runs
            bottleneck = bool(monitored[of_link].any())
            found.append(Drops(str(name), _REASONS[column], packets, bottleneck))
    if result.stages is not None and result.stages.num_rows:
        stage = np.asarray(texts(result.stages["stage"]).to_pylist(), dtype=object)
        count = np.asarray(texts(result.stages["count"]).to_pylist(), dtype=object)
        value = numbers(result.stages, "value")
        is_drop = np.array([str(one).startswith(_DROPPED) for one in count], dtype=bool)
        for name, reason in sorted(set(zip(stage[is_drop], count[is_drop], strict=True))):
            packets = float(value[(stage == name) & (count == reason)].sum()) / runs
            if packets:
                found.append(Drops(name, reason.removeprefix(_DROPPED), packets, False))
    return sorted(found, key=lambda one: (-one.packets, one.place, one.reason))


def busy_links(result: Result) -> list[BusyLink]:
    """Return links beside the bottlenecks that drop, mark, or are above 80 % used."""
    runs = max(result.replications, 1)
    links = rows_where(result.links, inverted(result.links["monitored"]))
    dropped = np.sum([numbers(links, column) for column in LINK_DROPS], axis=0)
    used, marks = numbers(links, "utilization"), numbers(links, "marks")
    names = np.asarray(texts(links["name"]).to_pylist(), dtype=object)
    found = []
    for name in _unique(names[(dropped > 0) | (marks > 0) | (used > BUSY)]):
        own = names == name
        found.append(
            BusyLink(
                str(name), float(used[own].mean()), float(dropped[own].sum()) / runs,
                float(marks[own].sum()) / runs,
            )
        )  # fmt: skip
    return sorted(found, key=lambda one: (-one.drops, -one.utilization, one.name))


def warnings(result: Result) -> list[str]:
    """Return what makes a result doubtful, a sentence each."""
    return [
        *_drops_elsewhere(result),
        *_unfinished(result),
        *_short_warm_up(result),
        *_policed(result),
    ]


def _drops_elsewhere(result: Result) -> list[str]:
    # What policers and auditors drop is meant, and is no bottleneck.
    at_links = [one for one in drops(result) if one.reason in _REASONS.values()]
    total = sum(one.packets for one in at_links)
    elsewhere = sum(one.packets for one in at_links if not one.is_bottleneck)
    if elsewhere <= total / 2 or total == 0:
        return []
    most = next(one for one in at_links if not one.is_bottleneck)
    text = (
        f"{elsewhere / total:.0%} of the packets that links dropped were dropped at other links "
        f"than the bottlenecks, most at {most.place} ({most.reason}): its queue is not in the "
        "table of bottlenecks"
    )
    return [text]


def _unfinished(result: Result) -> list[str]:
    found = []
    groups = result.groups
    names = texts(groups["group"]).to_pylist()
    finished, lacking = (numbers(groups, f"transfers_{end}") for end in ("finished", "unfinished"))
    for name in dict.fromkeys(names):
        own = np.array([one == name for one in names])
        done, undone = float(finished[own].sum()), float(lacking[own].sum())
        if undone > done:
            found.append(
                f"users.{name}: {undone:.0f} of {done + undone:.0f} transfers had not finished "
                "when the runs ended; completion times are of the others alone, which are the "
                "fast ones"
            )
    return found


def _short_warm_up(result: Result) -> list[str]:
    if result.applications is None or "offered" not in _whats(result.applications):
        return []
    warm_up_s = result.scenario.warm_up_s
    holding = {
        name: holding_s
        for name, holding_s in _holding_times(result).items()
        if warm_up_s < _HOLDING_TIMES * holding_s
    }
    return [
        f"users.{name}: the warm-up of {warm_up_s:g} s is shorter than three mean holding times of "
        f"calls ({_HOLDING_TIMES * holding_s:g} s), so that fewer calls than usual are in progress "
        "when the measurement begins"
        for name, holding_s in holding.items()
    ]


def _holding_times(result: Result) -> dict[str, float]:
    plan = result.scenario.plan()
    found = {}
    for flow in plan["flows"]:
        traffic = flow["traffic"]
        if traffic["kind"] == "calls":
            name = result.scenario.groups[result.scenario.user_groups[flow["user"]]]
            found[name] = float(traffic["holding_s"])
    return found


def _policed(result: Result) -> list[str]:
    """Rate policers that drop more than 1 % of the packets of users who send less than the rate."""
    if result.stages is None:
        return []
    rates = _policer_rates(result)
    if not rates:
        return []
    # Keys are the replication and the user.
    users = {(row["replication"], row["user"]): row for row in result.users.to_pylist()}
    sizes = {flow["user"]: flow["packet_size_bytes"] for flow in result.scenario.plan()["flows"]}
    taken: dict[str, float] = {}
    for row in result.stages.to_pylist():
        rate_bps = rates.get(row["stage"])
        if rate_bps is None or not row["count"].startswith(_DROPPED):
            continue
        user = users[row["replication"], row["user"]]
        packets = user["packets_delivered"] + user["losses"]
        if user["packets_delivered"]:
            sent_bps = user["throughput_bps"] * packets / user["packets_delivered"]
        else:
            sent_bps = 8 * sizes[row["user"]] * packets / result.scenario.duration_s
        share = row["value"] / packets if packets else 0.0
        if share > _MOST_POLICED and sent_bps < rate_bps:
            name = f"users.{row['group']}: {row['stage']}"
            taken[name] = max(taken.get(name, 0.0), share)
    return [
        f"{name} drops {share:.1%} of the packets of a user who sends less than its rate on "
        "average: its burst is smaller than theirs"
        for name, share in list(taken.items())[:_MOST_NAMED]
    ]


def _policer_rates(result: Result) -> dict[str, float]:
    """Return the rates of policers by the name of the stage."""
    if not any(one.reason in _ABOVE for one in drops(result)):
        return {}
    plan = result.scenario.plan()
    stages = {stage["name"]: stage for stage in plan["stages"]}
    for link in plan["links"]:
        for end in ("ingress", "egress"):
            own: list[dict[str, Any]] = link[end]
            stages |= {f"{link['name']}.{end}.{i}": stage for i, stage in enumerate(own)}
    return {
        name: float(stage["rate_bps"]) for name, stage in stages.items()
        if stage["kind"] == "policer" and stage.get("buckets") != "one"
    }  # fmt: skip


def _whats(applications: pa.Table) -> set[str]:
    return set(texts(applications["what"]).to_pylist())


def _unique(names: NDArray[Any]) -> list[Any]:
    return list(dict.fromkeys(names.tolist()))
