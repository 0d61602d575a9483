"""The view `blocking`: how many calls fit, and which marking lets one in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tidegate.analysis.erlang import accepted_by_probes, erlang_b, load_for
from tidegate.analysis.mapped.refusal import NoModelError
from tidegate.analysis.views import equilibrium
from tidegate.analysis.views.answer import Answer, Value
from tidegate.errors import AnalysisError

if TYPE_CHECKING:
    from tidegate.analysis.mapped.bundles import Bundle
    from tidegate.analysis.mapped.network import Mapped

_BLOCKING = 0.01
# Of constant rates, which a scenario gives no admission.
_PROBES = 20


def answer(mapped: Mapped) -> Answer:
    """For each group of calls: how many fit alone on the narrowest link of their way."""
    calls = [bundle for bundle in mapped.bundles if bundle.traffic["kind"] in ("cbr", "calls")]
    if not calls:
        raise NoModelError(
            f"{mapped.bundles[0].key}.traffic",
            "no group sends at a constant rate, as calls do",
            'give a group traffic = { kind = "calls", … }, or "cbr", the rate of a call',
        )
    marks = _marks(mapped)
    return Answer(
        model="Erlang's loss formula, section 7.2; thresholds w/x and 1/n, acceptance (7.2.2)",
        mapped={"calls": "the group alone on its narrowest link"},
        assumptions=(
            "calls arrive at random, last for any time, and go away when they are refused",
            "of a constant rate, a group's flows are the load that is offered, in Erlang",
            "one that is worth w marked packets a second is let in where p is below w/x",
            "one that asks with n packets, none of which may come back marked, is worth w = x/n",
            f"constant rates ask with {_PROBES} packets",
        ),
        tables={"calls": [_row(mapped, bundle, marks.get(bundle.group)) for bundle in calls]},
    )


def _row(mapped: Mapped, bundle: Bundle, p: float | None) -> dict[str, Value]:
    link = min((mapped.link(i) for i in bundle.links), key=lambda link: link["rate_bps"])
    rate_bps, admission = bundle.traffic["rate_bps"], _admission(bundle)
    fitting = int(link["rate_bps"] // rate_bps)
    if not fitting:
        raise NoModelError(
            f"{bundle.key}.traffic.rate",
            f"not one call of {rate_bps:g} b/s fits on {link['name']}",
            f"a rate up to {link['rate_bps']:g} b/s would",
        )
    servers = min(fitting, admission.limit or fitting)
    offered = _offered_erlang(bundle)
    return {
        "group": bundle.group, "link": link["name"], "call_bps": rate_bps, "calls": servers,
        "offered_erlang": offered, "blocking": float(erlang_b(servers, offered)),
        "load_at_1_percent_erlang": load_for(servers, _BLOCKING),
        **_admitted(admission, p, rate_bps / bundle.packet_bits),
    }  # fmt: skip


@dataclass(frozen=True)
class _Admission:
    """What lets a call in, besides that it fits."""

    threshold_p: float | None = None
    probes: int | None = None
    limit: int | None = None


def _admission(bundle: Bundle) -> _Admission:
    given = bundle.traffic.get("admission", {"kind": "probing", "probes": _PROBES})
    match given["kind"]:
        case "probing":
            return _Admission(1 / given["probes"], given["probes"])
        case "non-probing":
            return _Admission(given["threshold"])
        case "counter":
            return _Admission(limit=given["limit"])
    return _Admission()


def _offered_erlang(bundle: Bundle) -> float:
    if bundle.traffic["kind"] == "cbr":
        return float(bundle.flows)
    return float(bundle.flows * bundle.traffic["holding_s"] / bundle.traffic["every_s"])


def _marks(mapped: Mapped) -> dict[str, float]:
    """With which probability a packet of each group is signalled, where that is known."""
    try:
        groups = equilibrium.answer(mapped).tables["groups"]
    except AnalysisError:
        return {}
    return {str(row["group"]): float(row["p"] or 0) for row in groups}


def _admitted(admission: _Admission, p: float | None, rate_pps: float) -> dict[str, Value]:
    """The threshold on the marking, what it stands for, and what comes of it here."""
    threshold, probes = admission.threshold_p, admission.probes
    below = None if p is None or threshold is None else p < threshold
    return {
        "threshold_p": threshold,
        "willingness_pps": threshold * rate_pps if threshold else None,
        "p": p,
        "pays_pps": None if p is None else p * rate_pps,
        "below_threshold": below,
        "accepted": float(accepted_by_probes(p, probes)) if probes and p is not None else None,
        "accepted_at_threshold": (
            float(accepted_by_probes(threshold, probes)) if probes and threshold else None
        ),
    }
