"""What was compared, how close the two came, and how close they have to be."""

from __future__ import annotations

import math
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from linux_oracle import traces
from tidegate.studies.verdict import Tolerance

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from linux_oracle.kernel import Kernel
    from linux_oracle.traces import Packet, Record

# Chance exceeds this once in about 2,000 times where nothing is wrong (two-sided).
STANDARD_DEVIATIONS = 3.5


@dataclass(frozen=True)
class Check:
    """One number on both sides."""

    what: str
    linux: str
    ours: str
    bound: str
    held: bool


@dataclass
class Comparison:
    """One mechanism on one kind of traffic."""

    name: str
    mechanism: str
    title: str
    setup: str
    checks: list[Check] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def expect(self, what: str, linux: object, ours: object, bound: str, *, held: bool) -> None:
        """Add a check."""
        self.checks.append(Check(what, str(linux), str(ours), bound, bool(held)))

    def expect_close(
        self, what: str, linux: float, ours: float, relative: float, form: str = "{:.4g}"
    ) -> None:
        """Add a check that ours is within a share of the kernel's."""
        held = Tolerance(relative).holds(ours, linux)
        bound = f"± {100 * relative:g} %"
        self.expect(what, form.format(linux), form.format(ours), bound, held=held)


# The discipline hangs below one that asks it whether it is empty, and that passes everything on.
ABOVE = "prio bands 2 priomap 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0"


def replay(
    kernel: Kernel, discipline: str, packets: Sequence[Packet], *,
    poll_ms: float = 0, seed: int = 1,
) -> tuple[Record, str]:  # fmt: skip
    """Send a trace into a discipline of the kernel; returns the record, and what ``tc`` says."""
    kind = discipline.split(maxsplit=1)[0]
    poll = f" {kind} {int(poll_ms * 1e6)}" if poll_ms else ""
    commands = (
        "ip link set link0 up\n"
        f"tc qdisc add dev link0 root handle 1: {ABOVE}\n"
        f"tc qdisc add dev link0 parent 1:1 handle 10: {discipline}\n"
        f'"$AGENT" replay link0 trace result{poll}\n'
        "tc -s -d qdisc show dev link0\n"
    )
    with tempfile.TemporaryDirectory() as name:
        job = Path(name)
        text = "".join(f"{p.at_ns} {p.length} {p.flow} {p.ecn}\n" for p in packets)
        (job / "trace").write_text(text, encoding="ascii")
        said = kernel.run(job, commands, options={"rate_bps": traces.RATE_BPS, "seed": seed})
        return traces.read(job / "result", packets), said


def expect_sum(
    result: Comparison, what: str, happened: NDArray[np.bool_], probability: NDArray[np.float64]
) -> None:
    """Add a check that as much happened as its probabilities make likely."""
    seen, expected = int(happened.sum()), probability.sum()
    bound = STANDARD_DEVIATIONS * math.sqrt((probability * (1 - probability)).sum())
    result.expect(
        what, f"{seen:,}", f"{expected:,.0f}", f"± {bound:.0f} ({STANDARD_DEVIATIONS} σ)",
        held=abs(seen - expected) <= bound,
    )  # fmt: skip


def described(packets: Sequence[Packet]) -> str:
    """How many packets, and for how long."""
    return f"{len(packets):,} packets in {packets[-1].at_ns / 1e9:.0f} s"


def mean(values: Sequence[float]) -> float:
    """Arithmetic mean."""
    return math.fsum(values) / len(values)


def percentile(values: Sequence[float], share: float) -> float:
    """The value that ``share`` of all do not exceed."""
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]
