"""Events at the sender of a flow, as qlog (draft-ietf-quic-qlog-main-schema-08, version 0.4).

TCP has no events of its own in qlog. Those of QUIC that mean the same are written, so that tools
for QUIC draw them: each transmission has a packet number, counted from 0, and carries a range of
the stream; an acknowledgement is an ACK frame with the packet numbers of what it covers; data that
are sent again declare their former packet lost.

========================  ======================================================================
``quic:packet_sent``      a segment leaves the first link of the flow's path
``quic:packet_received``  an acknowledgement arrives from the last link of the reverse path
``recovery:packet_lost``  the same bytes are sent again
``recovery:metrics_updated``  congestion window and smoothed round trip, at each sampling time
========================  ======================================================================
"""

from __future__ import annotations

import heapq
import json
import math
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow.compute as pc

from tidegate.errors import UsageError
from tidegate.runs.packet_tables import read
from tidegate.runs.simulation import simulate

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from tidegate._native import Scenario

Event = tuple[float, str, dict[str, Any]]
"""Time in milliseconds after the start of the run, name and data."""


class LoggedFlow(NamedTuple):
    """A flow whose events are written."""

    name: str
    place: int
    """Index of the flow."""
    group: str
    number: int
    """Position among the flows of its group, from 0."""
    first_link: str
    last_link: str
    delay_s: float
    """Delay of the last link of the reverse path."""
    tcp: bool


def logged(scenario: Scenario, name: str) -> LoggedFlow:
    """Find a flow by its name, such as ``heavy.0.2``: group, user and flow of the user.

    Raises
    ------
    UsageError
        If there is no such flow.
    """
    plan = scenario.plan()
    of_group: Counter[int] = Counter()
    of_user: Counter[int] = Counter()
    users: Counter[int] = Counter()
    number_of_user: dict[int, int] = {}
    for index, flow in enumerate(plan["flows"]):
        user = flow["user"]
        group = scenario.user_groups[user]
        if user not in number_of_user:
            number_of_user[user] = users[group]
            users[group] += 1
        own = f"{scenario.groups[group]}.{number_of_user[user]}.{of_user[user]}"
        if own == name:
            links, last = plan["links"], flow["reverse"][-1]
            return LoggedFlow(
                name,
                index,
                scenario.groups[group],
                of_group[group],
                links[flow["forward"][0]]["name"],
                links[last]["name"],
                links[last]["delay_s"],
                flow["tcp"] is not None,
            )
        of_group[group] += 1
        of_user[user] += 1
    first = scenario.groups[0]
    raise UsageError(f"no flow {name}; a flow is GROUP.USER.FLOW, such as {first}.0.0")


def write_log(
    to: Path, scenario: Scenario, flow: LoggedFlow, sent: Path, received: Path, seed: int
) -> int:
    """Write the events of a flow from the rows of its two links. Returns their number."""
    samples = _samples(scenario, flow, seed) if flow.tcp else ()
    return write(to, flow.name, events(flow.place, sent, received, flow.delay_s, samples))


def _samples(scenario: Scenario, flow: LoggedFlow, seed: int) -> list[Sample]:
    """Window and round trip by a run of the same seed, which samples as many flows as it takes."""
    settings = {"sampled_flows": flow.number + 1}
    series = simulate(scenario, set=settings, seed=seed, replications=1).flow_series
    mine = series.filter(pc.equal(series["flow"], flow.place))
    plan = scenario.plan()["flows"][flow.place]
    tcp = plan["tcp"] or {}
    size = plan["packet_size_bytes"] - (52 if tcp.get("timestamps") else 40)
    rows = zip(
        *(mine[name].to_pylist() for name in ("time_s", "cwnd_packets", "srtt_s")), strict=True
    )
    none = math.nan
    return [
        Sample(time, none if cwnd is None else cwnd * size, none if srtt is None else srtt)
        for time, cwnd, srtt in rows
    ]


class Sample(NamedTuple):
    """State of the sender at a sampling time."""

    time_s: float
    cwnd_bytes: float
    srtt_s: float


def write(to: Path, title: str, events: Iterable[Event]) -> int:
    """Write events as JSON text sequences (RFC 7464). Returns their number."""
    head = {
        "qlog_version": "0.4",
        "qlog_format": "JSON-SEQ",
        "title": title,
        "trace": {
            "common_fields": {"time_format": "relative", "reference_time": 0},
            "vantage_point": {"name": title, "type": "client"},
        },
    }
    count = 0
    with to.open("w", encoding="utf-8") as file:
        file.write(f"\x1e{json.dumps(head)}\n")
        for time, name, data in events:
            event = {"time": round(time, 6), "name": name, "data": data}
            file.write(f"\x1e{json.dumps(event)}\n")
            count += 1
    return count


def events(
    flow: int, sent: Path, received: Path, delay_s: float, samples: Iterable[Sample]
) -> Iterator[Event]:
    """Events of a flow, in the order of time.

    `sent` and `received` are rows of the packets that leave the first link of its path and the last
    of the reverse path; `delay_s` is that of the latter, which acknowledgements still have to go.
    """
    sender = _Sender()
    late_ms = delay_s * 1e3
    outgoing = (_Happening(row["time_ns"] / 1e6, 0, row) for row in _rows(flow, sent, False))
    incoming = (
        _Happening(row["time_ns"] / 1e6 + late_ms, 1, row) for row in _rows(flow, received, True)
    )
    sampled = (_Happening(one.time_s * 1e3, 2, {}, one) for one in samples)
    merged = heapq.merge(outgoing, incoming, sampled, key=lambda one: (one.time, one.kind))
    for time, kind, row, sample in merged:
        if sample:
            yield from _metrics(time, sample)
        elif kind == 0:
            yield from sender.sends(time, row)
        else:
            yield from sender.receives(time, row)


class _Happening(NamedTuple):
    """What happens at a time: a packet is sent or received, or a sample is taken."""

    time: float
    kind: int
    row: dict[str, Any]
    sample: Sample | None = None


def _rows(flow: int, rows: Path, reverse: bool) -> Iterator[dict[str, Any]]:
    for batch in read(rows):
        for row in batch.to_pylist():
            if row["flow"] == flow and row["reverse"] == reverse:
                yield row


def _metrics(time: float, sample: Sample) -> Iterator[Event]:
    data: dict[str, float] = {}
    if not math.isnan(sample.cwnd_bytes):
        data["congestion_window"] = round(sample.cwnd_bytes)
    if not math.isnan(sample.srtt_s):
        data["smoothed_rtt"] = round(sample.srtt_s * 1e3, 6)
    if data:
        yield time, "recovery:metrics_updated", data


class _Sender:
    """Packet numbers of what is in flight, of each connection of a flow."""

    def __init__(self) -> None:
        self.number = 0
        self.in_flight: dict[int, dict[int, int]] = {}
        """By connection: the packet number of the last transmission of the data from an offset."""

    def sends(self, time: float, row: dict[str, Any]) -> Iterator[Event]:
        number, self.number = self.number, self.number + 1
        data: dict[str, Any] = {
            "header": {"packet_type": "1RTT", "packet_number": number},
            "raw": {"length": row["bytes"], "payload_length": row["payload_bytes"]},
        }
        offset, length = row["sequence"], row["payload_bytes"]
        if offset is not None and length:
            known = self.in_flight.setdefault(row["connection"], {})
            if (lost := known.get(offset)) is not None:
                header = {"packet_type": "1RTT", "packet_number": lost}
                yield time, "recovery:packet_lost", {"header": header}
            known[offset] = number
            frame = {"frame_type": "stream", "stream_id": row["connection"]}
            data["frames"] = [{**frame, "offset": offset, "length": length}]
        yield time, "quic:packet_sent", data

    def receives(self, time: float, row: dict[str, Any]) -> Iterator[Event]:
        known = self.in_flight.setdefault(row["connection"], {})
        numbers = []
        if (to := row["acknowledgement"]) is not None:
            # Offsets are in the order of their first transmission.
            numbers = sorted(known.pop(offset) for offset in list(_before(known, to)))
        data: dict[str, Any] = {"raw": {"length": row["bytes"]}}
        data["header"] = {"packet_type": "1RTT"}
        if numbers:
            data["frames"] = [{"frame_type": "ack", "acked_ranges": _ranges(numbers)}]
        yield time, "quic:packet_received", data


def _before(known: dict[int, int], to: int) -> Iterator[int]:
    for offset in known:
        if offset >= to:
            return
        yield offset


def _ranges(numbers: list[int]) -> list[list[int]]:
    """Ascending numbers as ranges, both ends included."""
    found: list[list[int]] = []
    for number in numbers:
        if found and number == found[-1][1] + 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return found
