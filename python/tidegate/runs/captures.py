"""Packets that leave a link: capture files for Wireshark and tshark, tables, and qlog of flows."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

from tidegate.errors import ResultError, UsageError
from tidegate.runs.packet_tables import write as write_table
from tidegate.runs.qlog import logged, write_log
from tidegate.scenarios.reading import load_scenario

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from tidegate._native import Scenario
    from tidegate.scenarios.reading import Settings, Source

MOST_PACKETS = 1_000_000
"""Default limit on the packets of a file, which has some 80 bytes for each."""


@dataclass(frozen=True)
class Capture:
    """A capture file."""

    link: str
    path: Path
    packets: int
    """Packets in the file."""
    beyond_limit: int
    """Packets that left the link after the limit was reached."""
    digest: str
    """Digest of the run, that of `simulate` with the same seed."""
    in_tunnels: int
    """Packets of all captured links that were in a tunnel and are left out."""
    table: Path | None = None
    """The same packets as a Parquet file, if asked for."""
    flow: str | None = None
    """Flow of a qlog file; `packets` are its events then, and `link` is its first link."""


def capture(
    scenario: Source,
    *,
    links: Sequence[str] = (),
    set: Settings | None = None,  # noqa: A002 - the same word as on the command line
    seed: int | None = None,
    packets: int = MOST_PACKETS,
    table: bool = False,
    qlog: Sequence[str] = (),
    out: str | os.PathLike[str] = ".",
) -> list[Capture]:
    """Simulate a scenario once and write the packets that leave links, one file for each link.

    A packet has its headers (IPv4 with TCP or UDP, ECN, SACK blocks, timestamps, AccECN) and the
    time at which its transmission ends; its payload is left out. Sequence numbers begin at 0.

    Parameters
    ----------
    scenario
        Path of a scenario file, its text, its content as a dictionary, or a `Scenario`.
    links
        Names such as ``"bottleneck"`` and ``"bottleneck.reverse"``; default: the first bottleneck.
    set
        Settings that win over the file.
    seed
        Seed of the run; default: the scenario's.
    packets
        Limit on the packets of a file.
    table
        Also write the packets as a table, ``SCENARIO.LINK.parquet``, a row for each.
    qlog
        Flows such as ``"heavy.0.2"`` (group, user, flow) whose events at the sender are written as
        qlog, ``SCENARIO.FLOW.sqlog``. Window and round trip are sampled, in a second run.
    out
        Folder of the files, ``SCENARIO.LINK.pcap``.

    Raises
    ------
    UsageError
        For a link or a flow that the scenario lacks.
    ResultError
        If a file cannot be written.
    """
    loaded = load_scenario(scenario, set=set)
    names = _links(loaded, links)
    logs = [logged(loaded, name) for name in dict.fromkeys(qlog)]
    folder = Path(out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".capture-", dir=folder) as drafts:
            files = [
                (name, str(Path(drafts) / f"{place}.pcap")) for place, name in enumerate(names)
            ]
            rows = [(name, str(Path(draft).with_suffix(".csv"))) for name, draft in files]
            rows = rows if table else []
            ends = [
                (link, str(Path(drafts) / f"{place}.{end}.csv"))
                for place, log in enumerate(logs)
                for end, link in (("sent", log.first_link), ("received", log.last_link))
            ]
            first = loaded.seed if seed is None else seed
            digest, counts, in_tunnels = loaded.capture(first, files + rows + ends, packets)
            written = []
            for (name, draft), (count, beyond) in zip(files, counts, strict=False):
                path = folder / f"{loaded.name}.{name}.pcap"
                Path(draft).replace(path)
                written.append(Capture(name, path, count, beyond, digest, in_tunnels))
            if table:
                written = [
                    replace(one, table=_table(loaded, one, Path(row), Path(drafts)))
                    for one, (_, row) in zip(written, rows, strict=True)
                ]
            of_ends = counts[len(files + rows) :]
            for place, log in enumerate(logs):
                sent, received = (Path(path) for _, path in ends[2 * place : 2 * place + 2])
                own = Path(drafts) / "events.sqlog"
                events = write_log(own, loaded, log, sent, received, first)
                path = folder / f"{loaded.name}.{log.name}.sqlog"
                own.replace(path)
                beyond = of_ends[2 * place][1] + of_ends[2 * place + 1][1]
                written.append(
                    Capture(log.first_link, path, events, beyond, digest, in_tunnels, flow=log.name)
                )
    except OSError as error:
        raise ResultError(f"cannot write a capture file in {folder}: {error.strerror}") from error
    return written


def _table(scenario: Scenario, capture: Capture, rows: Path, drafts: Path) -> Path:
    """Write the table beside the capture file, whole or not at all."""
    path = capture.path.with_suffix(".parquet")
    draft = drafts / "table.parquet"
    write_table(rows, draft, scenario)
    draft.replace(path)
    return path


def _links(scenario: Scenario, wanted: Sequence[str]) -> list[str]:
    known = scenario.links()
    if not wanted:
        return known[:1] if "bottleneck" not in known else ["bottleneck"]
    for name in wanted:
        if name not in known:
            near = get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(known[:8])}"
            raise UsageError(f"no link {name}; {hint}")
    return list(dict.fromkeys(wanted))
