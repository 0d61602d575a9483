"""The view `blocking`: how many calls fit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidegate.analysis.erlang import erlang_b, load_for
from tidegate.analysis.mapped.refusal import NoModelError
from tidegate.analysis.views.answer import Answer, Rows

if TYPE_CHECKING:
    from tidegate.analysis.mapped.network import Mapped

_BLOCKING = 0.01


def answer(mapped: Mapped) -> Answer:
    """For each group of calls: how many fit alone on the narrowest link of their way."""
    calls = [bundle for bundle in mapped.bundles if bundle.traffic["kind"] == "cbr"]
    if not calls:
        raise NoModelError(
            f"{mapped.bundles[0].key}.traffic",
            "nobody sends at a constant rate, as calls do",
            'give a group traffic = { kind = "cbr", rate = … }, the rate of a call',
        )
    rows: Rows = []
    for bundle in calls:
        link = min((mapped.link(i) for i in bundle.links), key=lambda link: link["rate_bps"])
        rate_bps = bundle.traffic["rate_bps"]
        servers = int(link["rate_bps"] // rate_bps)
        if not servers:
            raise NoModelError(
                f"{bundle.key}.traffic.rate",
                f"not one call of {rate_bps:g} b/s fits on {link['name']}",
                f"a rate up to {link['rate_bps']:g} b/s would",
            )
        rows.append(
            {
                "group": bundle.group, "link": link["name"], "call_bps": rate_bps,
                "calls": servers, "offered_erlang": bundle.flows,
                "blocking": float(erlang_b(servers, bundle.flows)),
                "load_at_1_percent_erlang": load_for(servers, _BLOCKING),
            }
        )  # fmt: skip
    return Answer(
        model="Erlang's loss formula, section 7.2",
        mapped={"calls": "each flow of a constant rate, the group alone on its narrowest link"},
        assumptions=(
            "calls arrive at random, last for any time, and go away when they are refused",
            "a group's flows are the load that is offered, in Erlang",
        ),
        tables={"calls": rows},
    )
