"""The view `optimum`: how the network should be shared."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidegate.analysis.mapped.optimum import sharing, solved
from tidegate.analysis.views.answer import Answer, Rows, Value, number

if TYPE_CHECKING:
    from tidegate.analysis.mapped.network import Mapped
    from tidegate.analysis.mapped.optimum import Sharing

_MODELS = {
    "proportional": "weighted proportional fairness, Σ w ln x, (3.2.1) to (3.2.7), (3.2.21)",
    "sbrm": "optimum of SBRM's utility, x ln x − (x − w) ln(x − w), from (4.2.3)",
    "sbrm-steps": "optimum of SBRM's utility, (x + w) ln(x + w) − x ln x, from (5.1.2), (5.1.3)",
    "vqm": "optimum of VQM's utility, w ln(x + w), from (5.1.2), (5.1.3)",
    "max-min": "max-min fairness by filling, section 3.2",
}


def answer(mapped: Mapped, how: Sharing | None = None) -> Answer:
    """Rates of a user of each group, and the price of each link."""
    how = how or sharing(mapped)
    found = solved(mapped, how)
    groups: Rows = []
    for bundle, weight, rate in zip(mapped.bundles, how.weights, found.rates, strict=True):
        row: dict[str, Value] = {"group": bundle.group, "users": bundle.users}
        groups.append({**row, "flows": bundle.flows, "weight": weight, "rate_bps": rate})
    links: Rows = [{"link": name, "price": number(price)} for name, price in found.prices.items()]
    alpha = "α-fairness, maximise Σ w x^(1 − α)/(1 − α)"
    return Answer(
        model=_MODELS.get(str(how.fairness), alpha),
        mapped={
            "utility": str(how.fairness),
            "of": "a user" if how.per_user else "a flow",
            "weights": how.by,
            "links": len(mapped.links),
        },
        assumptions=(
            "every user takes its whole share, up to its own links and rate",
            *(() if how.fairness == "max-min" else ("prices are per bit/s of the utility",)),
        ),
        tables={
            "groups": groups,
            "links": links if how.fairness != "max-min" else _unpriced(links),
        },
    )


def _unpriced(links: Rows) -> Rows:
    """Max-min has no prices."""
    return [{**link, "price": None} for link in links]
