"""What can be computed without a simulation.

Activity of CBR traffic and shares of CBR users (ABC), and of customers with TCP; where a bottleneck
with adaptive sources settles, whether it is stable, and how it moves in time; how many calls fit;
what RED and the policers of declared congestion (ConEx) do at which fill; how a video that stalls
is liked.
"""

from tidegate.analysis.abc_loop import AbcMargins, abc_stability
from tidegate.analysis.abc_tcp import AbcOverTcp
from tidegate.analysis.activity import (
    Meter,
    Trace,
    burst_bytes_for_one_more,
    cbr_trace,
    decay_s,
    onset_s,
    smallest_smooth_inertia_s,
    stationary_activity,
)
from tidegate.analysis.aicp_tcp import AicpA, AicpB, AicpOverTcp, aicp_stability
from tidegate.analysis.allocation import optimum
from tidegate.analysis.bands import stable_delays
from tidegate.analysis.bottleneck import Bottleneck, Equilibrium
from tidegate.analysis.customers import CustomerGroup, Shared
from tidegate.analysis.eigenloci import critical_network_delay, network_stability
from tidegate.analysis.erlang import (
    accepted_by_probes,
    admission_threshold,
    erlang_b,
    load_for,
    servers_for,
)
from tidegate.analysis.experience import quality_of_experience
from tidegate.analysis.export import to_control
from tidegate.analysis.exposure import policer_probability, red_probability
from tidegate.analysis.fluid import Trajectory, fluid, growth_per_s, swing_hz
from tidegate.analysis.friendliness import (
    compatible_rate_bps,
    sbrm_probability,
    sbrm_rate_bps,
    tcp_probability,
    tcp_rate_bps,
)
from tidegate.analysis.loci import LociMargin, loci_margin
from tidegate.analysis.maps import StabilityMap, stability_map
from tidegate.analysis.models import Model, RenoRed, Sbrm, equilibrium, loop
from tidegate.analysis.network import Link, Network, NetworkEquilibrium, Route
from tidegate.analysis.optimum import Flow, Optimum
from tidegate.analysis.padhye import Padhye
from tidegate.analysis.pie import Pi2, Pie, pie_gain
from tidegate.analysis.piecewise import PiecewiseLinear
from tidegate.analysis.policers import Customer, Policed, PolicedLink, policed_shares
from tidegate.analysis.prices import DirectWindow, Pc1, Pc2, Pc3, TcpRm, VegasCp
from tidegate.analysis.red import AdaptiveRed, Red
from tidegate.analysis.shares import (
    CbrUser,
    Shares,
    cbr_shares,
    intended_shares_bps,
    smallest_rate_reaching_bps,
)
from tidegate.analysis.signals import SbrmQueue, Signal
from tidegate.analysis.sources import (
    Cbr,
    Cubic,
    Reno,
    SbrmSource,
    SbrmSteps,
    Scalable,
    Source,
)
from tidegate.analysis.spectra import fourier_spectrum, music_spectrum
from tidegate.analysis.stability import (
    Stability,
    stability,
)
from tidegate.analysis.theory import Theory, beside_theory, theory
from tidegate.analysis.tipping import (
    Tipping,
    critical_capacity,
    critical_count,
    critical_delay,
    scaled,
)
from tidegate.analysis.two_queues import DualQueues

__all__ = [
    "AbcMargins",
    "AbcOverTcp",
    "AdaptiveRed",
    "AicpA",
    "AicpB",
    "AicpOverTcp",
    "Bottleneck",
    "Cbr",
    "CbrUser",
    "Cubic",
    "Customer",
    "CustomerGroup",
    "DirectWindow",
    "DualQueues",
    "Equilibrium",
    "Flow",
    "Link",
    "LociMargin",
    "Meter",
    "Model",
    "Network",
    "NetworkEquilibrium",
    "Optimum",
    "Padhye",
    "Pc1",
    "Pc2",
    "Pc3",
    "Pi2",
    "Pie",
    "PiecewiseLinear",
    "Policed",
    "PolicedLink",
    "Red",
    "Reno",
    "RenoRed",
    "Route",
    "Sbrm",
    "SbrmQueue",
    "SbrmSource",
    "SbrmSteps",
    "Scalable",
    "Shared",
    "Shares",
    "Signal",
    "Source",
    "Stability",
    "StabilityMap",
    "TcpRm",
    "Theory",
    "Tipping",
    "Trace",
    "Trajectory",
    "VegasCp",
    "abc_stability",
    "accepted_by_probes",
    "admission_threshold",
    "aicp_stability",
    "beside_theory",
    "burst_bytes_for_one_more",
    "cbr_shares",
    "cbr_trace",
    "compatible_rate_bps",
    "critical_capacity",
    "critical_count",
    "critical_delay",
    "critical_network_delay",
    "decay_s",
    "equilibrium",
    "erlang_b",
    "fluid",
    "fourier_spectrum",
    "growth_per_s",
    "intended_shares_bps",
    "load_for",
    "loci_margin",
    "loop",
    "music_spectrum",
    "network_stability",
    "onset_s",
    "optimum",
    "pie_gain",
    "policed_shares",
    "policer_probability",
    "quality_of_experience",
    "red_probability",
    "sbrm_probability",
    "sbrm_rate_bps",
    "scaled",
    "servers_for",
    "smallest_rate_reaching_bps",
    "smallest_smooth_inertia_s",
    "stability",
    "stability_map",
    "stable_delays",
    "stationary_activity",
    "swing_hz",
    "tcp_probability",
    "tcp_rate_bps",
    "theory",
    "to_control",
]
