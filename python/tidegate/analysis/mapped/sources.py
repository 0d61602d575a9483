"""Which law a sender of a scenario follows; a table.

A sender that is not in it has no law here, and the message says what is nearest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidegate.analysis.mapped.hearing import Signalled
from tidegate.analysis.mapped.refusal import NoModelError
from tidegate.analysis.prices import DirectWindow, TcpRm, VegasCp
from tidegate.analysis.sources import (
    Cbr,
    Cubic,
    Reno,
    SbrmSource,
    SbrmSteps,
    Scalable,
    Source,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from tidegate.analysis.mapped.bundles import Bundle
    from tidegate.scenarios.plans import Choice

_BITS_PER_BYTE = 8


def source_of(bundle: Bundle, signal: Signalled, signal_key: str) -> Source:
    """The law of a bundle's flows where full links signal like that, which `signal_key` decides.

    DCTCP and Prague answer to a loss as Reno does (RFC 8257, section 3.5;
    draft-briscoe-iccrg-prague-congestion-control, section 2.4.2).
    """
    kind = bundle.traffic["kind"]
    if kind == "cbr":
        rate_pps = bundle.traffic["rate_bps"] / bundle.packet_bits
        return Cbr(count=bundle.flows, base_rtt_s=bundle.base_rtt_s, offered_pps=rate_pps)
    if kind != "greedy" or bundle.tcp is None:
        raise NoModelError(
            f"{bundle.key}.traffic",
            f"traffic that comes and goes ({kind}) has no stationary law",
            'the nearest are flows without end ("greedy") and constant rates ("cbr")',
        )
    sender = bundle.tcp["congestion_control"]
    law = SENDERS.get(sender["kind"])
    if law is None:
        raise NoModelError(
            f"{bundle.key}.tcp.congestion_control",
            f"{sender['kind']} has no law here",
            f"there are {', '.join(SENDERS)}, of which reno is the nearest",
        )
    if signal not in _answers_to(sender):
        raise NoModelError(
            signal_key,
            f"{sender['kind']} answers to {_needs(sender)}, and a full link {signal.value}, for "
            "which it has no law here",
            _remedy(sender, signal),
        )
    if signal is Signalled.LOSSES and sender["kind"] in ("dctcp", "prague"):
        return _by_losses(bundle)
    return law(bundle, sender)


def _answers_to(sender: Choice) -> tuple[Signalled, ...]:
    """Signals at which a sender's law holds."""
    if _reads_prices(sender):
        return (Signalled.PRICES, Signalled.MARKS)
    if sender["kind"] in ("sbrm", "direct-window", "tcp-rm"):
        return (Signalled.MARKS,)
    return (Signalled.MARKS, Signalled.LOSSES)


def _reads_prices(sender: Choice) -> bool:
    return sender["kind"] == "vegas-cp" or sender.get("price") == "path"


def _needs(sender: Choice) -> str:
    if _reads_prices(sender):
        return "the price of its path"
    return "marks" if Signalled.LOSSES not in _answers_to(sender) else "marks and losses"


def _remedy(sender: Choice, signal: Signalled) -> str:
    if signal is Signalled.PRICES:
        return (
            'direct-window or vegas-cp read prices, and price_encoding "one-bit" makes them marks'
        )
    if _reads_prices(sender):
        return 'an AQM that asks a price ("pc2", "pc3") has a law for it'
    return "ecn = true, at the link and for its senders, would do"


def _by_losses(bundle: Bundle) -> Source:
    return Reno(
        count=bundle.flows,
        base_rtt_s=bundle.base_rtt_s,
        packets_per_ack=_packets_per_ack(bundle, counts=True),
    )


def _reno(bundle: Bundle, sender: Choice) -> Source:
    return Reno(
        count=bundle.flows,
        base_rtt_s=bundle.base_rtt_s,
        packets_per_ack=_packets_per_ack(bundle, counts=sender["byte_counting"]),
    )


def _cubic(bundle: Bundle, sender: Choice) -> Source:  # noqa: ARG001 - it counts packets always
    return Cubic(count=bundle.flows, base_rtt_s=bundle.base_rtt_s)


def _scalable(bundle: Bundle, sender: Choice) -> Source:  # noqa: ARG001 - it has no parameters
    return Scalable(count=bundle.flows, base_rtt_s=bundle.base_rtt_s)


def _sbrm(bundle: Bundle, sender: Choice) -> Source:
    return SbrmSteps(
        count=bundle.flows,
        base_rtt_s=bundle.base_rtt_s,
        gain=sender["kappa"],
        willingness_pps=sender["willingness_to_pay"],
    )


def _direct_window(bundle: Bundle, sender: Choice) -> Source:
    pays = {"gain": sender["kappa"], "willingness_pps": sender["willingness_to_pay"]}
    same = {"count": bundle.flows, "base_rtt_s": bundle.base_rtt_s, **pays}
    if sender["price"] == "mark":
        return SbrmSource(**same)
    return DirectWindow(**same, base=bundle.price_base)


def _vegas_cp(bundle: Bundle, sender: Choice) -> Source:
    if sender["rate_by"] != "rtt":
        raise NoModelError(
            f"{bundle.key}.tcp.congestion_control.rate_by",
            "a rate computed from the shortest round trip is not the rate",
            'set it to "rtt"',
        )
    return VegasCp(
        count=bundle.flows,
        base_rtt_s=bundle.base_rtt_s,
        willingness_pps=sender["willingness_to_pay"],
        base=bundle.price_base,
    )


def _tcp_rm(bundle: Bundle, sender: Choice) -> Source:
    return TcpRm(
        count=bundle.flows,
        base_rtt_s=bundle.base_rtt_s,
        gain=sender["kappa"],
        willingness_pps=sender["willingness_to_pay"],
    )


def _packets_per_ack(bundle: Bundle, *, counts: bool) -> float:
    """A receiver that delays ACKs sends one for two packets; who counts packets does not mind."""
    delays = (bundle.tcp or {}).get("delayed_ack_s") is not None
    return 2.0 if delays and not counts else 1.0


SENDERS: dict[str, Callable[[Bundle, Choice], Source]] = {
    "reno": _reno,
    "cubic": _cubic,
    "linux-cubic": _cubic,
    "cubic-2-1": _cubic,
    "dctcp": _scalable,
    "prague": _scalable,
    "sbrm": _sbrm,
    "direct-window": _direct_window,
    "vegas-cp": _vegas_cp,
    "tcp-rm": _tcp_rm,
}


def source_warnings(bundle: Bundle, source: Source) -> list[str]:
    """Where a law is not quite what the sender does."""
    signal = []
    tcp = bundle.tcp or {}
    reference_s = tcp.get("congestion_control", {}).get("reference_rtt_s")
    if isinstance(source, Scalable) and reference_s and bundle.base_rtt_s < reference_s:
        signal.append(
            f"{bundle.key}: Prague slows its growth below a round trip of "
            f"{1e3 * reference_s:g} ms, which 1/W − p/2 does not"
        )
    return signal


def window_limit_packets(bundle: Bundle) -> float | None:
    """Largest window that the receiver allows, in full packets."""
    limit_bytes = (bundle.tcp or {}).get("window_limit_bytes")
    return limit_bytes * _BITS_PER_BYTE / bundle.packet_bits if limit_bytes else None
