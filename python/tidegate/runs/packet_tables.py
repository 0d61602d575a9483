"""Packets that left a link as a table: the rows that the engine writes, with names for numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import csv

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tidegate._native import Scenario

ECN = ("Not-ECT", "ECT(1)", "ECT(0)", "CE")
"""Names of the ECN field (RFC 3168), by its value."""

_ROWS = {
    "time_ns": pa.int64(),
    "flow": pa.uint32(),
    "connection": pa.uint32(),
    "reverse": pa.bool_(),
    "bytes": pa.uint16(),
    "payload_bytes": pa.uint16(),
    "ecn": pa.uint8(),
    "syn": pa.bool_(),
    "sequence": pa.uint32(),
    "acknowledgement": pa.uint32(),
    "sack": pa.string(),
}
_NAMES = pa.dictionary(pa.int32(), pa.string())
SCHEMA = pa.schema([
    pa.field("time_ns", pa.int64(), metadata={"unit": "ns", "meaning": "End of the transmission."}),
    pa.field("flow", pa.uint32(), metadata={"meaning": "Index of the flow."}),
    pa.field("group", _NAMES, metadata={"meaning": "User group."}),
    pa.field("connection", pa.uint32(), metadata={"meaning": "Connection of the flow, from 0."}),
    pa.field("reverse", pa.bool_(), metadata={"meaning": "From the flow's receiver."}),
    pa.field("bytes", pa.uint16(), metadata={"unit": "B", "meaning": "Length on the wire."}),
    pa.field("payload_bytes", pa.uint16(), metadata={"unit": "B", "meaning": "Payload."}),
    pa.field("ecn", _NAMES, metadata={"meaning": "ECN field."}),
    pa.field("syn", pa.bool_(), metadata={"meaning": "Whether it is a SYN."}),
    pa.field("sequence", pa.uint32(), metadata={"meaning": "Sequence number; none of UDP."}),
    pa.field("acknowledgement", pa.uint32(), metadata={"meaning": "Acknowledgement number."}),
    pa.field("sack", pa.string(), metadata={"meaning": "SACK blocks, from-to."}),
])  # fmt: skip
"""Columns of a table of packets, one row for each."""


def read(rows: Path) -> Iterator[pa.RecordBatch]:
    """Rows of the engine's file, a batch at a time."""
    options = csv.ConvertOptions(column_types=_ROWS, strings_can_be_null=True)
    with csv.open_csv(rows, convert_options=options) as reader:
        yield from reader


def write(rows: Path, to: Path, scenario: Scenario) -> None:
    """Write the engine's rows of a link as a Parquet file, with the groups of the flows."""
    users = scenario.user_groups
    owners = pa.array([users[flow["user"]] for flow in scenario.plan()["flows"]], pa.int32())
    groups, ecn = pa.array(scenario.groups, pa.string()), pa.array(ECN, pa.string())
    with pq.ParquetWriter(to, SCHEMA) as writer:
        for batch in read(rows):
            columns = {name: batch.column(name) for name in batch.schema.names}
            group = owners.take(columns["flow"])
            columns["group"] = pa.DictionaryArray.from_arrays(group, groups)
            mark = columns["ecn"].cast(pa.int32())
            columns["ecn"] = pa.DictionaryArray.from_arrays(mark, ecn)
            ordered = [columns[field.name] for field in SCHEMA]
            writer.write_table(pa.Table.from_arrays(ordered, schema=SCHEMA))
