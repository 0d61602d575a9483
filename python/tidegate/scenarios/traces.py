"""Traces of links: what a file with a rate or a delay over time has."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, TypedDict

import numpy as np

from tidegate import _native
from tidegate.data import in_package
from tidegate.errors import TraceError
from tidegate.escapes import one_line
from tidegate.files import UnreadableError, read_text
from tidegate.scenarios.data_files import MAX_TRACE_BYTES

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    Scalar: TypeAlias = str | float | None

PERCENTILES = (5, 25, 50, 75, 95)
MAX_WINDOWS = 10_000_000
"""More of them are more than anybody looks at."""


class ReadTrace(TypedDict):
    """What the engine has read of a text."""

    quantity: str
    format: str
    errors: list[str]
    length_s: float
    times_s: list[float]
    values: list[float]


class Trace(NamedTuple):
    """A rate [bit/s] or a delay [s] over time."""

    quantity: str
    """``rate_bps`` or ``delay_s``."""
    format: str
    """``mahimahi`` or ``csv``."""
    length_s: float
    times_s: NDArray[np.float64]
    """When each value begins; the first at 0."""
    values: NDArray[np.float64]
    sha256: str
    """Of the file."""

    @property
    def is_rate(self) -> bool:
        """Whether it is a rate."""
        return self.quantity == "rate_bps"

    @property
    def durations_s(self) -> NDArray[np.float64]:
        """How long each value holds."""
        return np.diff(self.times_s, append=self.length_s)

    @property
    def mean(self) -> float:
        """Its mean over time."""
        return float(self.values @ self.durations_s / self.length_s)

    def windows(self, window_s: float) -> NDArray[np.float64]:
        """Means over windows of a length one behind the other; the last is cut off at the end."""
        count = max(1, int(np.ceil(self.length_s / window_s - 1e-9)))
        edges = np.minimum(np.arange(count + 1) * window_s, self.length_s)
        known = np.append(self.times_s, self.length_s)
        sums = np.append(0.0, np.cumsum(self.values * self.durations_s))
        means: NDArray[np.float64] = np.diff(np.interp(edges, known, sums)) / np.diff(edges)
        return means

    def outages_s(self, shortest_s: float) -> NDArray[np.float64]:
        """Lengths of the outages, in which the rate is 0, from a length on."""
        lengths: NDArray[np.float64] = self.durations_s
        silent = self.is_rate & (self.values == 0) & (lengths >= shortest_s - 1e-9)
        outages: NDArray[np.float64] = np.compress(silent, lengths)
        return outages

    def summary(self, window_s: float, outage_s: float) -> dict[str, Scalar]:
        """Mean, percentiles over windows, and outages; of a delay, its changes.

        Raises
        ------
        TraceError
            If it has too many windows.

        """
        if self.length_s / window_s > MAX_WINDOWS:
            raise TraceError(f"more than {MAX_WINDOWS} windows; choose longer ones")
        row: dict[str, Scalar] = {
            "quantity": self.quantity, "format": self.format, "length_s": self.length_s,
            "changes": len(self.values) - 1, "sha256": self.sha256, "mean": self.mean,
            "window_s": window_s,
        }  # fmt: skip
        windows = self.windows(window_s)
        row["minimum"] = float(windows.min())
        for percent in PERCENTILES:
            row[f"p{percent}"] = float(np.percentile(windows, percent))
        row["maximum"] = float(windows.max())
        if self.is_rate:
            outages = self.outages_s(outage_s)
            row["outage_s"] = outage_s
            row["outages"] = len(outages)
            row["longest_outage_s"] = float(outages.max()) if len(outages) else 0.0
            row["share_in_outages"] = float(outages.sum() / self.length_s)
        else:
            steps = np.abs(np.diff(self.values))
            row["largest_step_s"] = float(steps.max()) if len(steps) else 0.0
        return row


def read_trace(path: Path) -> Trace:
    """Read a trace in Mahimahi's format, or as CSV.

    Raises
    ------
    TraceError
        With what is wrong, by line.

    """
    shown = one_line(path)
    try:
        text = read_text(in_package(path), MAX_TRACE_BYTES)
    except FileNotFoundError as error:
        raise TraceError(f"cannot read {shown}: {error.strerror}") from None
    except UnreadableError as error:
        raise TraceError(f"cannot read {shown}: {error}") from None
    read = _native.read_trace(text)
    if read["errors"]:
        raise TraceError("\n".join(f"{shown}: {error}" for error in read["errors"]))
    return Trace(
        read["quantity"], read["format"], read["length_s"], np.array(read["times_s"]),
        np.array(read["values"]), hashlib.sha256(text.encode()).hexdigest(),
    )  # fmt: skip
