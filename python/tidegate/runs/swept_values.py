"""Values of swept keys, out of their TOML: as data for programs and as words for people."""

from __future__ import annotations

import re
import tomllib
from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# As the engine reads them (crates/scenario/src/quantity.rs), in the unit that columns are in.
UNITS: Mapping[str, Mapping[str, float]] = {
    "s": {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0},
    "bps": {
        "b/s": 1.0, "kb/s": 1e3, "Mb/s": 1e6, "Gb/s": 1e9, "Tb/s": 1e12,
        "Kib/s": 2.0**10, "Mib/s": 2.0**20, "Gib/s": 2.0**30,
        "B/s": 8.0, "kB/s": 8e3, "MB/s": 8e6, "GB/s": 8e9,
        "KiB/s": 8 * 2.0**10, "MiB/s": 8 * 2.0**20, "GiB/s": 8 * 2.0**30,
    },
    "bytes": {
        "B": 1.0, "kB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30,
    },
    "packets": {"packets": 1.0, "packet": 1.0},
    "pps": {"packets/s": 1.0, "packet/s": 1.0},
    "bdp": {"BDP": 1.0},
}  # fmt: skip
_QUANTITY = re.compile(r"([0-9]+(?:\.[0-9]+)?) *([A-Za-z/]+)")


def value_of(text: str) -> object:
    """The Python value of a value in TOML.

    >>> value_of("3"), value_of('"5 ms"'), value_of('{ kind = "none" }')
    (3, '5 ms', {'kind': 'none'})
    """
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def words(value: object) -> str:
    """A value as people would say it: without the signs of TOML.

    >>> words({"kind": "icp", "curve": "step"}), words("5 ms"), words(0.5), words(True)
    ('icp, curve step', '5 ms', '0.5', 'true')
    """
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        rest = [f"{key} {words(item)}".strip() for key, item in value.items() if key != "kind"]
        return ", ".join([words(value["kind"]), *rest] if "kind" in value else rest)
    if isinstance(value, list):
        return "[" + ", ".join(map(words, value)) + "]"
    return str(value)


def distinct_words(values: Sequence[object]) -> list[str]:
    """`words` without what is the same in all values of a kind, for legends and axes.

    >>> distinct_words([{"kind": "icp", "curve": "step"}, {"kind": "red", "a": 1, "b": 2},
    ...                 {"kind": "red", "a": 1, "b": 3}])
    ['icp', 'red, b 2', 'red, b 3']
    >>> distinct_words([[], [{"kind": "conex-policer", "depth": "45 packets"}]])
    ['[]', '[conex-policer]']
    >>> bucket = {"fill_rate": "7 Mb/s", "depth": "500 kB", "buckets": "by-user"}
    >>> distinct_words([{"kind": "pdn-gateway", "policers": one} for one in ([], [bucket])])
    ['pdn-gateway, policers []', 'pdn-gateway, policers [fill_rate 7 Mb/s, …]']
    """
    named = [words(_without_common(value, values)) for value in values]
    # Without its parts, one may be called as another.
    return named if len(set(named)) == len(set(map(words, values))) else list(map(words, values))


def _without_common(value: object, values: Sequence[object]) -> object:
    if isinstance(value, list):
        items = [item for one in values if isinstance(one, list) for item in one]
        return [_without_common(item, items) for item in value]
    if not isinstance(value, dict) or "kind" not in value:
        return value
    alike = [one for one in values if isinstance(one, dict) and one.get("kind") == value["kind"]]
    return {
        key: _brief(item)
        for key, item in value.items()
        if key == "kind" or any(one.get(key) != item for one in alike)
    }


def _brief(value: object) -> object:
    """Of tables among the parameters the first entry, which stands for them."""
    if isinstance(value, list):
        return [_brief(item) for item in value]
    if isinstance(value, dict) and "kind" not in value and len(value) > 1:
        first = next(iter(value))
        return {first: value[first], "…": ""}
    return value


def columns(key: str, values: Sequence[object]) -> dict[str, pa.Array]:
    """A swept key's column: numbers if all values are numbers, otherwise words.

    Quantities of one kind stand in a second column as well, as numbers: ``bottleneck.delay_s``
    beside ``bottleneck.delay``, in the units that all columns have.
    """
    known = [value for value in values if value is not None]
    if known and all(isinstance(value, bool) for value in known):
        return {key: pa.array(values, pa.bool_())}
    if known and all(_is_number(value) for value in known):
        whole = all(isinstance(value, int) for value in known)
        return {key: pa.array(values, pa.int64() if whole else pa.float64())}
    named = [None if value is None else words(value) for value in values]
    found = {key: pa.array(named, pa.string())}
    dimension, amounts = quantities(values)
    if dimension:
        found[f"{key}_{dimension}"] = pa.array(amounts, pa.float64())
    return found


def quantities(values: Sequence[object]) -> tuple[str, list[float | None]]:
    """What all these values measure and how much in its unit; nothing if they differ in that.

    >>> quantities(["5 ms", "0.05 s"])
    ('s', [0.005, 0.05])
    """
    parts = [None if value is None else _quantity(value) for value in values]
    dimensions = {part[0] for part in parts if part}
    lacking = any(
        part is None and value is not None for part, value in zip(parts, values, strict=True)
    )
    if len(dimensions) != 1 or lacking:
        return "", []
    return dimensions.pop(), [part[1] if part else None for part in parts]


def _quantity(value: object) -> tuple[str, float] | None:
    found = _QUANTITY.fullmatch(value.strip()) if isinstance(value, str) else None
    if not found:
        return None
    number, unit = found.groups()
    for dimension, units in UNITS.items():
        if unit in units:
            return dimension, _product(number, units[unit])
    return None


def _product(number: str, factor: float) -> float:
    """As exact as a float can be: 5 × 10⁻³ is 0.005, and not a neighbour of it."""
    return float(number) * factor if factor >= 1 else float(number) / round(1 / factor)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
