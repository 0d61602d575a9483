"""Models with the papers' parameters, and what stands for a bottleneck: these, or a scenario.

All numbers may be arrays that broadcast against each other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias, cast

from tidegate.analysis.bottleneck import Bottleneck, Equilibrium, Form
from tidegate.analysis.mapped.network import Mapped
from tidegate.analysis.red import Red
from tidegate.analysis.signals import SbrmQueue
from tidegate.analysis.sources import Reno, SbrmSource
from tidegate.scenarios.reading import load_scenario

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from tidegate.analysis.signals import Complexes
    from tidegate.scenarios.reading import Source


@dataclass(frozen=True, kw_only=True)
class Sbrm:
    """Single-bit resource marking in the dissertation's letters: (4.2.3) and (5.4.1).

    Parameters
    ----------
    n
        Sources.
    c_pps
        Rate of the link, packets/s.
    d_s
        Round trip without queueing.
    kappa, w_pps
        Gain, and willingness to pay, marked packets/s.
    gamma_per_packet, b0_packets
        Steepness and target of the queue's marking.

    >>> model = Sbrm(n=30, c_pps=10e3, d_s=0.086)
    >>> round(float(equilibrium(model).queue_packets), 1)    # 50 − ln(1 − 0.06)/0.006
    60.3
    """

    n: ArrayLike
    c_pps: ArrayLike
    d_s: ArrayLike
    kappa: ArrayLike = 0.2
    w_pps: ArrayLike = 20.0
    gamma_per_packet: ArrayLike = 0.006
    b0_packets: ArrayLike = 50.0

    @property
    def bottleneck(self) -> Bottleneck:
        """As link, signal and sources."""
        source = SbrmSource(
            count=self.n, base_rtt_s=self.d_s, gain=self.kappa, willingness_pps=self.w_pps
        )
        signal = SbrmQueue(
            steepness_per_packet=self.gamma_per_packet, target_packets=self.b0_packets
        )
        return Bottleneck(capacity_pps=self.c_pps, signal=signal, sources=(source,))


@dataclass(frozen=True, kw_only=True)
class RenoRed:
    """TCP Reno with RED in the dissertation's letters: table 5.5.1, (6.5.22).

    `alpha` is the weight of the present queue in the mean one.
    """

    n: ArrayLike
    c_pps: ArrayLike
    d_s: ArrayLike
    min_th_packets: ArrayLike = 50.0
    max_th_packets: ArrayLike = 550.0
    max_p: ArrayLike = 0.1
    alpha: ArrayLike = 1e-4

    @property
    def bottleneck(self) -> Bottleneck:
        """As link, signal and sources."""
        signal = Red(
            min_threshold_packets=self.min_th_packets,
            max_threshold_packets=self.max_th_packets,
            max_probability=self.max_p,
            weight=self.alpha,
        )
        source = Reno(count=self.n, base_rtt_s=self.d_s)
        return Bottleneck(capacity_pps=self.c_pps, signal=signal, sources=(source,))


Model: TypeAlias = "Bottleneck | Sbrm | RenoRed | Source"
"""A bottleneck, a model of it, or a scenario: whatever `load_scenario` takes."""


def bottleneck_of(model: Model) -> Bottleneck:
    """The bottleneck that a model stands for; of a scenario, the one link that is full."""
    if isinstance(model, Bottleneck):
        return model
    stands_for = getattr(model, "bottleneck", None)
    if isinstance(stands_for, Bottleneck):
        return stands_for
    return Mapped(load_scenario(cast("Source", model))).bottleneck


def equilibrium(model: Model) -> Equilibrium:
    """Where it settles (section 5.5)."""
    return bottleneck_of(model).equilibrium


def loop(model: Model, s: Complexes, *, form: Form = "fluid") -> Complexes:
    """The open loop L(s) around the equilibrium, at any array of s = jω, in radians/s.

    >>> import numpy as np
    >>> there = loop(Sbrm(n=30, c_pps=10e3, d_s=0.086), 2j * np.pi * np.array([1.0, 2.0]))
    >>> abs(there).round(1).tolist()
    [1.8, 0.9]
    """
    import numpy as np

    return bottleneck_of(model).loop(np.asarray(s, dtype=np.complex128), form=form)
