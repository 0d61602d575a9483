"""The loop of ABC over TCP (`tidegate.analysis.abc_tcp`): does it keep its equilibrium?

Windows move by their source's law, and are at the queue, with the activity that the meter wrote
into packets, half a round trip later; a loss is with the source another half later. Meter and
average follow::

    A_i' = (X_i 2^(−A_i)/R_i − 1)/I                a lag with the pole ln 2/I
    A'   = (1 − w_A) Σ X_i (A_i − A)               w_A per arriving packet
    Q'   = Σ X_i (1 − p_i) − c                     what is lost does not wait

The probabilities of the groups are what goes round: L is a matrix. Besides the mode in which groups
move as one there is one for each group of several customers in which these move against each other:
queue and average stay, and the meter alone answers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from tidegate.analysis.loci import LociMargin, loci_margin
from tidegate.analysis.shared_loop import J, answers, band, sender
from tidegate.errors import AnalysisError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tidegate.analysis.abc_tcp import AbcOverTcp
    from tidegate.analysis.signals import Complexes


@dataclass(frozen=True)
class AbcMargins:
    """Of all modes.

    `joint` is that of the groups as ones; `own` has an entry for each group, None where one is
    alone in its queue.
    """

    joint: LociMargin
    own: tuple[LociMargin | None, ...]

    @property
    def worst(self) -> LociMargin:
        """The one that tips first."""
        several = [margin for margin in self.own if margin is not None]
        return min([self.joint, *several], key=lambda margin: margin.gain_margin)

    @property
    def stable(self) -> bool:
        """Whether all modes settle."""
        return self.worst.stable


def abc_stability(link: AbcOverTcp) -> AbcMargins:
    """Margins of ABC over TCP."""
    joint = loci_margin(partial(joint_loop, link), **band(link))
    return AbcMargins(joint, own_margins(link))


def margin_without_abc(link: AbcOverTcp) -> float:
    """Gain margin of the same queue with γ = 0, which is what packets show; NaN without one.

    A loop that tips by γ alone says that a small swing of activities grows. In packets it is
    bounded by the activity's lower end, 0, and by what the flows' saws do to it anyway.
    """
    try:
        return float(abc_stability(replace(link, gamma=0.0)).joint.gain_margin)
    except AnalysisError:
        return float("nan")


def own_margins(link: AbcOverTcp) -> tuple[LociMargin | None, ...]:
    """Of each group's customers against each other, which is what ABC adds to a queue."""
    return tuple(
        loci_margin(partial(own_loop, link, group), **band(link)) if each.count > 1 else None
        for group, each in enumerate(link.customers)
    )


def joint_loop(link: AbcOverTcp, omega: NDArray[np.float64]) -> Complexes:
    """L(jω) of all groups: a stack of matrices, met probability by met probability."""
    at, s = link.equilibrium, J * omega
    answer = answers(link, s)
    counts = np.array([each.count for each in link.customers])
    lags = np.stack([_meter(link, group, s) for group in range(len(counts))], axis=-1)
    activities = lags[:, :, None] * answer.rates
    above = np.array(at.state) - at.mean_state
    average = np.einsum("n,knm->km", counts * np.array(at.offered_pps), activities)
    average = average + np.einsum("n,knm->km", counts * above, answer.rates)
    average = _average(link, s)[:, None] * average
    by_own, by_activity = _weights(link)
    met = by_own[:, None] * answer.probability[:, None, :]
    met = met + by_activity[:, None] * (activities - average[:, None, :])
    return np.asarray(-met)


def own_loop(link: AbcOverTcp, group: int, omega: NDArray[np.float64]) -> Complexes:
    """L(jω) of a group's customers against each other: a stack of matrices of one entry."""
    s = J * omega
    _, by_activity = _weights(link)
    met = by_activity[group] * _meter(link, group, s) * sender(link, group, s).by_loss
    return np.asarray(-met[:, None, None])


def _meter(link: AbcOverTcp, group: int, s: Complexes) -> Complexes:
    """Change of an activity by that of the rate; zero for a user within its rate."""
    at = link.equilibrium
    if at.state[group] <= 0:
        return np.zeros_like(s)
    return np.asarray(1 / at.offered_pps[group] / (link.inertia_s * s + np.log(2)))


def _average(link: AbcOverTcp, s: Complexes) -> Complexes:
    """Change of the average by what arrives more of activity, a second."""
    customers = zip(link.customers, link.equilibrium.offered_pps, strict=True)
    arriving = sum(each.count * offered for each, offered in customers)
    share = 1 - link.activity_weight
    return np.asarray(share / (s + share * arriving))


def _weights(link: AbcOverTcp) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Derivatives of (5) by the queue's own probability, and by A_i − A."""
    at = link.equilibrium
    loss = np.array(at.loss)
    weight = np.exp2(-link.gamma * (np.array(at.state) - at.mean_state))
    return loss * weight / at.probability, -link.gamma * np.log(2) * loss * np.log(loss)
