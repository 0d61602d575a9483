"""The view `blocking`: how many calls fit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidegate.analysis.erlang import accepted_by_probes, erlang_b, load_for
from tidegate.analysis.mapped.refusal import NoModelError
from tidegate.analysis.views.answer import Answer, Rows, Value

if TYPE_CHECKING:
    from tidegate.analysis.mapped.bundles import Bundle
    from tidegate.analysis.mapped.network import Mapped

_BLOCKING = 0.01
_PROBES = 20


def answer(mapped: Mapped) -> Answer:
    """For each group of calls: how many fit alone on the narrowest link of their way."""
    calls = [bundle for bundle in mapped.bundles if bundle.traffic["kind"] == "cbr"]
    if not calls:
        raise NoModelError(
            f"{mapped.bundles[0].key}.traffic",
            "nobody sends at a constant rate, as calls do",
            'give a group traffic = { kind = "cbr", rate = … }, the rate of a call',
        )
    marks = _marks(mapped)
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
                "load_at_1_percent_erlang": load_for(servers, _BLOCKING), **_probed(bundle, marks),
            }
        )  # fmt: skip
    return Answer(
        model="Erlang's loss formula, section 7.2; acceptance by probes, (7.2.2)",
        mapped={"calls": "each flow of a constant rate, the group alone on its narrowest link"},
        assumptions=(
            "calls arrive at random, last for any time, and go away when they are refused",
            "a group's flows are the load that is offered, in Erlang",
            f"a call that asks with {_PROBES} packets is let in where none comes back marked",
        ),
        tables={"calls": rows},
    )


def _marks(mapped: Mapped) -> dict[str, float]:
    """With which probability a packet of each group is signalled, where that is known."""
    from tidegate.analysis.views import equilibrium
    from tidegate.errors import AnalysisError

    try:
        groups = equilibrium.answer(mapped).tables["groups"]
    except AnalysisError:
        return {}
    return {str(row["group"]): float(row["p"] or 0) for row in groups}


def _probed(bundle: Bundle, marks: dict[str, float]) -> dict[str, Value]:
    """The threshold of so many probes, and the share of calls that they let in."""
    p = marks.get(bundle.group)
    accepted = None if p is None else float(accepted_by_probes(p, _PROBES))
    return {"threshold_p": 1 / _PROBES, "p": p, "accepted": accepted}
