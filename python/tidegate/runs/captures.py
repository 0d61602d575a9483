"""Capture files of a simulation: the packets that leave a link, for Wireshark and tshark."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

from tidegate.errors import ResultError, UsageError
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


def capture(
    scenario: Source,
    *,
    links: Sequence[str] = (),
    set: Settings | None = None,  # noqa: A002 - the same word as on the command line
    seed: int | None = None,
    packets: int = MOST_PACKETS,
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
    out
        Folder of the files, ``SCENARIO.LINK.pcap``.

    Raises
    ------
    UsageError
        For a link that the scenario lacks.
    ResultError
        If a file cannot be written.
    """
    loaded = load_scenario(scenario, set=set)
    names = _links(loaded, links)
    folder = Path(out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".capture-", dir=folder) as drafts:
            files = [
                (name, str(Path(drafts) / f"{place}.pcap")) for place, name in enumerate(names)
            ]
            first = loaded.seed if seed is None else seed
            digest, counts, in_tunnels = loaded.capture(first, files, packets)
            written = []
            for (name, draft), (count, beyond) in zip(files, counts, strict=True):
                path = folder / f"{loaded.name}.{name}.pcap"
                Path(draft).replace(path)
                written.append(Capture(name, path, count, beyond, digest, in_tunnels))
    except OSError as error:
        raise ResultError(f"cannot write a capture file in {folder}: {error.strerror}") from error
    return written


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
