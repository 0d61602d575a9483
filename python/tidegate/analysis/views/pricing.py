"""Prices beside probabilities, where links ask them: columns of the equilibrium's tables."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tidegate.analysis.mapped.hearing import PRICE_QUEUES, Signalled, signalled
from tidegate.analysis.prices import price

if TYPE_CHECKING:
    from tidegate.analysis.mapped.bundles import Bundle
    from tidegate.analysis.mapped.network import Mapped
    from tidegate.analysis.views.answer import Value

_MARKS_BY_PRICE = "sbrm-queue"
"""Its marks say a price with base e, whatever the base of others."""


def asks_prices(mapped: Mapped) -> bool:
    """Whether any full link does."""
    return any(_asks(mapped, i) for i in mapped.full_links)


def _asks(mapped: Mapped, index: int) -> bool:
    link = mapped.link(index)
    kinds = (*PRICE_QUEUES, _MARKS_BY_PRICE)
    return link["scheduler"]["kind"] == "fifo" and link["aqm"]["kind"] in kinds


def of_link(mapped: Mapped, index: int, probability: float) -> dict[str, Value]:
    """A link's p, and where links ask prices its λ; of one that marks nothing the λ alone.

    The columns are the same for all links of a table.
    """
    if not asks_prices(mapped):
        return {"p": probability}
    asked = _price(probability, _base(mapped, index)) if _asks(mapped, index) else None
    return {"p": None if _marks_nothing(mapped, index) else probability, "price": asked}


def of_group(mapped: Mapped, bundle: Bundle, probability: float) -> dict[str, Value]:
    """What a group meets on its way: p, and the sum of the prices that links ask."""
    if not asks_prices(mapped):
        return {"p": probability}
    indices = [i for i in bundle.links if i in mapped.full_links]
    bases = {_base(mapped, i) for i in indices if _asks(mapped, i)}
    path = _price(probability, bases.pop()) if len(bases) == 1 else None
    explicit = signalled(mapped, bundle) is Signalled.PRICES
    return {"p": None if explicit else probability, "path_price": path}


def _marks_nothing(mapped: Mapped, index: int) -> bool:
    passing = [bundle for bundle in mapped.bundles if index in bundle.links]
    return any(signalled(mapped, bundle) is Signalled.PRICES for bundle in passing)


def _base(mapped: Mapped, index: int) -> float:
    own = mapped.link(index)["aqm"]["kind"] == _MARKS_BY_PRICE
    return math.e if own else mapped.price_base


def _price(probability: float, base: float) -> float:
    """λ = −ln(1 − p)/ln φ."""
    import numpy as np

    return float(price(np.asarray(probability), base))
