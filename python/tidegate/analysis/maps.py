"""A map of verdicts: over two of base round trip, number of flows and rate of the link."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tidegate.analysis.models import bottleneck_of
from tidegate.analysis.stability import Stability, stability
from tidegate.analysis.tipping import scaled
from tidegate.errors import AnalysisError

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import ArrayLike, NDArray

    from tidegate.analysis.models import Model

_UNITS = {"base_rtt_s": "base_rtt", "flows": "count", "capacity_pps": "capacity"}


@dataclass(frozen=True)
class StabilityMap:
    """Margins over two quantities: rows go with the first, columns with the second."""

    names: tuple[str, str]
    axes: tuple[NDArray[np.float64], NDArray[np.float64]]
    stability: Stability

    @property
    def table(self) -> pa.Table:
        """A row for each case."""
        import pyarrow as pa

        first, second = np.meshgrid(*self.axes, indexing="ij")
        at = self.stability
        return pa.table(
            {
                self.names[0]: first.ravel(),
                self.names[1]: second.ravel(),
                "exists": at.exists.ravel(),
                "stable": at.stable.ravel(),
                "gain_margin": pa.array(at.gain_margin.ravel(), from_pandas=True),
                "phase_margin_deg": pa.array(at.phase_margin_deg.ravel(), from_pandas=True),
            }
        )


def stability_map(
    model: Model,
    *,
    base_rtt_s: ArrayLike | None = None,
    flows: ArrayLike | None = None,
    capacity_pps: ArrayLike | None = None,
) -> StabilityMap:
    """Margins over two of the three, each a list of values; the third is the model's own.

    All groups of sources change by the same factor; `base_rtt_s` is of the first group.

    >>> from tidegate.analysis.models import RenoRed
    >>> model = RenoRed(n=30, c_pps=10e3, d_s=0.07)
    >>> over = stability_map(model, base_rtt_s=[0.05, 0.07], flows=[20, 30, 60])
    >>> over.stability.stable.tolist()
    [[False, True, True], [False, False, True]]
    """
    bottleneck = bottleneck_of(model)
    present = {
        "base_rtt_s": bottleneck.sources[0].base_rtt_s,
        "flows": sum(np.asarray(source.count) for source in bottleneck.sources),
        "capacity_pps": bottleneck.capacity_pps,
    }
    values = {"base_rtt_s": base_rtt_s, "flows": flows, "capacity_pps": capacity_pps}
    given = [
        (name, np.asarray(at, dtype=np.float64)) for name, at in values.items() if at is not None
    ]
    if len(given) != 2:
        raise AnalysisError("a map is over two of base_rtt_s, flows and capacity_pps")
    factors = {}
    for (name, at), shape in zip(given, ((-1, 1), (1, -1)), strict=True):
        factors[_UNITS[name]] = (at / np.asarray(present[name])).reshape(shape)
    around = scaled(bottleneck, **factors)
    names = (given[0][0], given[1][0])
    return StabilityMap(names, (given[0][1], given[1][1]), stability(around))
