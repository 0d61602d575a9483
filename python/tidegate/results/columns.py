"""Definition of the result tables: each column's type, unit and meaning.

The engine defines its own tables (``crates/simulator/src/output``); the tables derived from them
are defined here. From both come the Arrow types, the units in the fields' metadata, the types of
the lab program's output, and the page ``docs/result-tables.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TypedDict

import pyarrow as pa

from tidegate import _native
from tidegate.results.quantities import DEFINITIONS

_TYPES = {
    "uint32": pa.uint32(),
    "uint64": pa.uint64(),
    "int64": pa.int64(),
    "double": pa.float64(),
    "bool": pa.bool_(),
    "string": pa.string(),
    "dictionary": pa.dictionary(pa.int32(), pa.string()),
}

_UNIT_OF_ENDING = {"_bps": "bit/s", "_s": "s", "_bytes": "B", "_packets": "packets"}


class EngineColumn(TypedDict):
    """A column, as the engine defines it."""

    name: str
    type: str
    unit: str
    meaning: str


class EngineTable(TypedDict):
    """A table, as the engine defines it."""

    name: str
    about: str
    only: str | None
    columns: list[EngineColumn]


@dataclass(frozen=True)
class Column:
    """A column of a table."""

    name: str
    type_name: str
    """Arrow type; ``dictionary`` is for names that repeat."""
    unit: str
    """``1`` for a share, empty for counts, names and indices."""
    meaning: str

    @property
    def type(self) -> pa.DataType:
        """Its Arrow type."""
        return _TYPES[self.type_name]


@dataclass(frozen=True)
class TableSchema:
    """A table."""

    name: str
    about: str
    """What a row is."""
    columns: tuple[Column, ...]
    only: str = ""
    """Kind of results that have this table; empty: all."""


def _engine() -> tuple[TableSchema, ...]:
    return tuple(
        TableSchema(
            table["name"],
            table["about"],
            tuple(Column(c["name"], c["type"], c["unit"], c["meaning"]) for c in table["columns"]),
            table["only"] or "",
        )
        for table in _native.output_schema()
    )


def _declared(*rows: tuple[str, str, str, str]) -> tuple[Column, ...]:
    return tuple(Column(*row) for row in rows)


_MEANINGS = {one.metric: f"{one.meaning[0].upper()}{one.meaning[1:]}." for one in DEFINITIONS}

ENGINE = _engine()
"""Tables of the engine, in order."""


def _delays() -> list[tuple[str, str, str]]:
    """Columns of the engine's table of delays that groups have, with units and meanings."""
    delays = next(table for table in ENGINE if table.name == "delays")
    return [(c.name, c.unit, c.meaning) for c in delays.columns if c.type == pa.float64()]


DELAYS = tuple(name for name, _, _ in _delays())
"""Columns of the delays of a group's packets."""

NUMBERING = _declared(
    ("replication", "uint32", "", "Number of the replication, from 0."),
    ("seed", "uint64", "", "Random seed of the replication."),
)
"""The first columns of every table."""

_COMPLETIONS = (
    ("transfers_finished", "int64", "", "Transfers that finished."),
    ("transfers_unfinished", "int64", "", "Transfers that had not finished when the run ended."),
    ("mean_completion_s", "double", "s",
     "Mean flow completion time (FCT) of the finished transfers."),
    ("p50_completion_s", "double", "s", "Median FCT of the finished transfers."),
    ("p95_completion_s", "double", "s", "95th percentile of the FCT of the finished transfers."),
    ("p99_completion_s", "double", "s", "99th percentile of the FCT of the finished transfers."),
    ("max_completion_s", "double", "s", "Largest FCT of a finished transfer."),
    ("mean_slowdown", "double", "1",
     "Mean slowdown of the finished transfers: FCT over the time on an empty path."),
    ("p50_slowdown", "double", "1", "Median slowdown of the finished transfers."),
    ("p99_slowdown", "double", "1", "99th percentile of the slowdown of the finished transfers."),
)  # fmt: skip

USERS = TableSchema(
    "users", "One row per user: sums over its flows, over the measured time.",
    _declared(
        ("user", "uint32", "", "Number of the user, from 0."),
        ("group", "dictionary", "", "Group of the user."),
        ("flows", "int64", "", "Number of the user's flows."),
        ("throughput_bps", "double", "bit/s", _MEANINGS["throughput_bps"]),
        ("goodput_bps", "double", "bit/s", _MEANINGS["goodput_bps"]),
        ("packets_sent", "uint64", "", "Packets that the user's senders sent, as in `flows`."),
        ("retransmits", "uint64", "", "Retransmitted packets among `packets_sent`."),
        ("timeouts", "uint64", "", "Retransmission timeouts (RTO)."),
        ("fast_recoveries", "uint64", "",
         "Fast recoveries entered; missing on real Linux, which has no count."),
        ("losses", "uint64", "", "Packets lost in the network."),
        ("packets_delivered", "uint64", "", "Packets that reached the receiver."),
        ("marks", "uint64", "", "Packets marked CE in the network among `packets_delivered`."),
        ("mean_srtt_s", "double", "s", "Smoothed round-trip time, mean over the user's flows."),
    ),
)  # fmt: skip

GROUPS = TableSchema(
    "groups", "One row per user group: means per user, over the measured time.",
    _declared(
        ("group", "dictionary", "", "Name of the group."),
        ("users", "int64", "", "Number of users in the group."),
        ("flows", "int64", "", "Number of the group's flows."),
        ("throughput_bps", "double", "bit/s", _MEANINGS["throughput_bps"] + " Mean per user."),
        ("goodput_bps", "double", "bit/s", _MEANINGS["goodput_bps"] + " Mean per user."),
        ("total_throughput_bps", "double", "bit/s", "Sum of the throughput of the group's users."),
        ("share", "double", "1", "The group's part of the throughput of all groups."),
        ("ratio_to_first", "double", "1",
         "Throughput ratio of a user of this group to a user of the first group."),
        ("loss_ratio", "double", "1", _MEANINGS["loss_ratio"]),
        ("mark_ratio", "double", "1", _MEANINGS["mark_ratio"]),
        ("retransmit_ratio", "double", "1", _MEANINGS["retransmit_ratio"]),
        ("timeouts", "uint64", "", "Retransmission timeouts (RTO) of the group's flows."),
        ("mean_srtt_s", "double", "s", "Smoothed round-trip time, mean over the group's flows."),
        *((name, "double", unit, meaning) for name, unit, meaning in _delays()),
        *_COMPLETIONS,
    ),
)  # fmt: skip

COMPLETIONS = TableSchema(
    "completions",
    "One row per group and power of ten of the size of its transfers: flow completion times. "
    "Groups whose transfers have a barrier have one more row, for their blocks.",
    _declared(
        ("group", "dictionary", "", "Name of the group."),
        ("size_class", "string", "", "Sizes of the transfers: from, to below; `block` for blocks."),
        *_COMPLETIONS,
    ),
)  # fmt: skip

LAB = TableSchema(
    "lab", "One row per replication: how well the machine kept up, and on which kernel.",
    _declared(
        ("valid", "bool", "",
         "Whether the machine met the run's deadlines; invalid runs are in no mean."),
        ("reasons", "string", "", "Why the run is invalid."),
        ("packets", "uint64", "", "Packets that the forwarder released in the measured time."),
        ("late_packets", "uint64", "",
         "Packets among `packets` released later than `nominal_late_s`."),
        ("nominal_late_s", "double", "s", "Lateness from which a packet counts as late."),
        ("lateness_mean_s", "double", "s", "Mean time from a packet's due time to its release."),
        ("lateness_p99_s", "double", "s", "99th percentile of a packet's lateness."),
        ("lateness_max_s", "double", "s", "Largest lateness of a packet."),
        ("overruns", "uint64", "",
         "Packets that hosts sent and the forwarder did not read in time."),
        ("cpu_share", "double", "1", "The forwarder's share of a core."),
        ("malformed", "uint64", "", "Packets or options that no parser accepted."),
        ("inconsistent", "uint64", "", "Packets with a contradictory ConEx declaration; ignored."),
        ("unclassified", "uint64", "", "Packets that belong to no flow."),
        ("without_room", "uint64", "", "Packets too long for the headers that stages add."),
        ("rejected", "uint64", "", "Packets that a host did not accept."),
        ("messages", "string", "", "Tunnel messages that nodes received, by kind and fault."),
        ("realtime", "bool", "", "Whether the forwarder had real-time priority."),
        ("stall_s", "double", "s",
         "Longest time that the hosts' applications did not run although work was due."),
        ("load_lateness_mean_s", "double", "s",
         "Mean lateness of the load generator's UDP packets and flow starts."),
        ("load_lateness_max_s", "double", "s", "Largest lateness of the load generator."),
        ("busy_share", "double", "1",
         "Share of all processors' time in use, by any program."),
        ("deviations", "string", "", "Settings of the scenario that this kernel ignores."),
        ("kernel", "string", "", "Release of the kernel."),
        ("qemu", "string", "", "Version of qemu, where the kernel ran in a guest."),
        ("icount_shift", "int64", "", "Binary logarithm of the time of a guest's instruction, ns."),
        ("control_ratio", "double", "1",
         "Throughput of ten flows over that of one through the kernel's CAKE, in the control."),
        ("congestion_controls", "string", "", "Congestion controls that the kernel has."),
        ("ip", "int64", "", "Version of the Internet Protocol."),
        ("generator", "string", "", "Program that generated the traffic."),
    ),
    only="real Linux",
)  # fmt: skip

SUMMARY = TableSchema(
    "summary",
    "One row per metric of a group or a bottleneck: mean over runs and its confidence interval.",
    _declared(
        ("kind", "string", "", "`group` or `link`."),
        ("name", "string", "", "Name of the group or link."),
        ("metric", "string", "", "A column of `groups` or `links`, or `drop_ratio`."),
        ("unit", "string", "", "Unit of the metric."),
        ("mean", "double", "", "Mean over the replications, in `unit`."),
        ("ci95", "double", "",
         "Half-width of the mean's 95 % confidence interval (Student's t), in `unit`."),
        ("runs", "uint32", "", "Replications that have a value."),
    ),
)  # fmt: skip

_RATIOS = _declared(("drop_ratio", "double", "1", _MEANINGS["drop_ratio"]))

_BY_NAME = {
    column.name: column
    for columns in (
        _RATIOS,
        NUMBERING,
        *(t.columns for t in (SUMMARY, LAB, GROUPS, COMPLETIONS, USERS, *ENGINE)),
    )
    for column in columns
}  # fmt: skip


def column(name: str) -> Column | None:
    """Return the column of this name, the same thing in every table; None if there is none.

    >>> column("mean_srtt_s").unit, column("utilization").unit, column("drops_full").unit
    ('s', '1', '')
    """
    return _BY_NAME.get(name)


def unit_of(name: str) -> str:
    """Return the unit of a column; counts and names have none.

    The unit of a column that is in no table, such as the swept ``bottleneck.delay_s``, follows from
    its name.

    >>> unit_of("mean_srtt_s"), unit_of("share"), unit_of("drops_full"), unit_of("link.delay_s")
    ('s', '1', '', 's')
    """
    found = column(name)
    if found:
        return found.unit
    return next((unit for end, unit in _UNIT_OF_ENDING.items() if name.endswith(end)), "")


@lru_cache(4096)
def field_of(name: str, data_type: pa.DataType) -> pa.Field:
    """Return a field with its unit in the metadata, for programs."""
    unit = unit_of(name)
    return pa.field(name, data_type, metadata={"unit": unit} if unit else None)


TABLES = (*ENGINE, USERS, GROUPS, COMPLETIONS, LAB, SUMMARY)
"""All tables of a result."""


def schema_of(table: TableSchema) -> pa.Schema:
    """Return the Arrow schema of a result's table, units included."""
    head = () if table is SUMMARY else NUMBERING
    named = {column.name: column.type for column in (*head, *table.columns)}
    return pa.schema([field_of(name, data_type) for name, data_type in named.items()])


def check_types(name: str, content: pa.Table) -> str:
    """Why a table cannot be the result's table of this name; nothing if it can.

    Columns may be lacking: another version of tidegate may have written it.
    """
    declared = schema_of(next(table for table in TABLES if table.name == name))
    lacking = [column.name for column in NUMBERING if column.name not in content.column_names]
    if lacking:
        return f"it has no column {lacking[0]!r}"
    for field in content.schema:
        if field.name in declared.names and field.type != declared.field(field.name).type:
            return f"column {field.name!r} is {field.type}, not {declared.field(field.name).type}"
    return ""


def page() -> str:
    """Write the reference of all tables as Markdown."""
    return "\n".join([_INTRODUCTION, *(_section(table) for table in TABLES)])


_INTRODUCTION = """\
# Tables of results

The columns of every table, with their Arrow types and units. Programs find the unit in the field's
metadata (`unit`). [Results](results.md) says what is measured and over which time. `summary` has
means and confidence intervals. A value is missing where nothing was measured, such as the round
trip of a flow that sent nothing. All tables but `summary` begin with `replication` (`uint32`, from
0) and `seed` (`uint64`).
"""


def _section(table: TableSchema) -> str:
    numbering = {column.name for column in NUMBERING} if table is not SUMMARY else set()
    rows = [
        f"| `{column.name}` | {column.type_name} | {column.unit} | {column.meaning} |"
        for column in table.columns
        if column.name not in numbering
    ]
    only = f" Only of {table.only}." if table.only else ""
    head = [f"## {table.name}", "", table.about + only, ""]
    return "\n".join([*head, "| column | type | unit | meaning |", "|---|---|---|---|", *rows, ""])
