"""Flow completion times (FCT) by group and by size of the transfer.

The *slowdown* of a transfer is its completion time over that of the same transfer on an empty path
(column ``empty_path_s`` of ``transfers``): 1 where nothing is in the way.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_UNITS = ("B", "kB", "MB", "GB", "TB")


def statistics(
    completion_s: NDArray[np.float64], empty_path_s: NDArray[np.float64]
) -> dict[str, float]:
    """Summarize the completion times of some transfers; NaN is one that has not finished."""
    finished = ~np.isnan(completion_s)
    times, ideal = completion_s[finished], empty_path_s[finished]
    with np.errstate(divide="ignore", invalid="ignore"):
        slowdown = times / ideal
    by_time, by_slowdown = np.sort(times), np.sort(slowdown)
    return {
        "transfers_finished": times.size,
        "transfers_unfinished": completion_s.size - times.size,
        "mean_completion_s": _mean(times),
        "p50_completion_s": quantile(by_time, 0.5),
        "p95_completion_s": quantile(by_time, 0.95),
        "p99_completion_s": quantile(by_time, 0.99),
        "max_completion_s": quantile(by_time, 1.0),
        "mean_slowdown": _mean(slowdown),
        "p50_slowdown": quantile(by_slowdown, 0.5),
        "p99_slowdown": quantile(by_slowdown, 0.99),
    }


def by_group(transfers: dict[str, NDArray[Any]], groups: int) -> dict[str, NDArray[Any]]:
    """Completion times of each group, as columns."""
    index = transfers["group"].astype(int)
    order = np.argsort(index, kind="stable")
    ends = np.searchsorted(index[order], np.arange(groups + 1))
    none = statistics(np.array([]), np.array([]))
    rows = [
        _of(transfers, order[first:end]) if end > first else none for first, end in pairwise(ends)
    ]
    return _columns(rows)


def by_size(
    transfers: dict[str, NDArray[Any]], groups: Sequence[str], with_blocks: Sequence[int] = ()
) -> dict[str, Any]:
    """Completion times of each group by the power of ten of the size, as columns.

    Groups `with_blocks`, by index, have one more row for their blocks (class ``block``).
    """
    size = np.maximum(transfers["size_bytes"], 1)
    power = np.floor(np.log10(size)).astype(int)
    keys = sorted(set(zip(transfers["group"].astype(int).tolist(), power.tolist(), strict=True)))
    rows = [_of(transfers, (transfers["group"] == group) & (power == own)) for group, own in keys]
    rows += [_blocks(transfers, group) for group in with_blocks]
    index = pa.array([*(group for group, _ in keys), *with_blocks], pa.int32())
    return {
        "group": pa.DictionaryArray.from_arrays(index, pa.array(groups, pa.string())),
        "size_class": [*(size_class(own) for _, own in keys), *("block" for _ in with_blocks)],
        **(_columns(rows) if rows else {name: np.array([], t) for name, t in _TYPES.items()}),
    }


def size_class(power: int) -> str:
    """Name the sizes from a power of ten to the next.

    >>> size_class(3), size_class(5)
    ('1 kB to 10 kB', '100 kB to 1 MB')
    """
    return f"{_size(power)} to {_size(power + 1)}"


def _size(power: int) -> str:
    unit = min(power // 3, len(_UNITS) - 1)
    return f"{10 ** (power - 3 * unit)} {_UNITS[unit]}"


def _blocks(transfers: dict[str, NDArray[Any]], group: int) -> dict[str, float]:
    """Summarize blocks: the first transfers of all flows of a group, the second ones, and so on.

    A block lasts from the start of its first transfer to the end of its last. Nothing is known of
    its time on an empty path.
    """
    mine = transfers["group"] == group
    flow, start = transfers["flow"][mine], transfers["start_s"][mine]
    took = transfers["completion_s"][mine]
    flows = np.unique(flow).size
    if not flows:
        return statistics(np.array([]), np.array([]))
    order = np.lexsort((flow, start))
    first = start[order]
    # All flows begin a block before any begins the next.
    block = np.arange(len(order)) // flows
    begin = np.full(block[-1] + 1, np.inf)
    np.minimum.at(begin, block, first)
    end = np.zeros(block[-1] + 1)
    with np.errstate(invalid="ignore"):  # a transfer that has not ended: neither has its block
        np.maximum.at(end, block, first + took[order])
    return statistics(end - begin, np.full(len(begin), np.nan))


def _of(transfers: dict[str, NDArray[Any]], which: NDArray[Any]) -> dict[str, float]:
    return statistics(transfers["completion_s"][which], transfers["empty_path_s"][which])


def _columns(rows: Sequence[dict[str, float]]) -> dict[str, NDArray[Any]]:
    return {name: np.array([row[name] for row in rows], t) for name, t in _TYPES.items()}


def _mean(values: NDArray[np.float64]) -> float:
    return float(values.mean()) if values.size else float("nan")


def quantile(ordered: NDArray[np.float64], share: float) -> float:
    """Quantile of sorted values, one of them (numpy's ``inverted_cdf``, which takes far longer).

    >>> quantile(np.array([1.0, 2.0, 3.0, 4.0]), 0.5)
    2.0
    """
    if not ordered.size or np.isnan(ordered[-1]):
        return float("nan")
    return float(ordered[max(0, math.ceil(ordered.size * share - 1))])


_TYPES = {
    name: "i8" if name.startswith("transfers_") else "f8"
    for name in statistics(np.array([]), np.array([]))
}
