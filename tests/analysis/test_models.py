"""The papers' parameters, maps, and sources and signals beyond the dissertation's."""

import numpy as np
import pytest

from tidegate.analysis import (
    AdaptiveRed,
    Bottleneck,
    Cbr,
    Cubic,
    Flow,
    Pi2,
    Pie,
    PiecewiseLinear,
    Red,
    Reno,
    RenoRed,
    Sbrm,
    SbrmQueue,
    SbrmSource,
    SbrmSteps,
    Scalable,
    critical_delay,
    equilibrium,
    fluid,
    growth_per_s,
    loop,
    optimum,
    scaled,
    stability,
    stability_map,
)
from tidegate.analysis.figures import draw_course, draw_loop
from tidegate.errors import AnalysisError, NoEquilibriumError

PAPER = {
    "n": 30, "c_pps": 10e3, "d_s": 0.086, "kappa": 0.2, "w_pps": 20, "gamma_per_packet": 0.006,
    "b0_packets": 50,
}  # fmt: skip


def test_the_papers_parameters_make_its_model():
    """Companion of the paper, section 2: 87.33 ms as printed, 87.909 ms by the fluid."""
    model = Sbrm(**PAPER)
    assert critical_delay(model, form="paper").value == pytest.approx(0.08733, abs=1e-5)
    assert critical_delay(model).value == pytest.approx(0.087909, abs=1e-6)
    assert equilibrium(model).queue_packets == pytest.approx(50 - np.log(1 - 0.06) / 0.006)
    assert loop(model, 2j * np.pi * np.ones((2, 3))).shape == (2, 3)


def test_a_map_is_the_cases_one_by_one():
    model = RenoRed(n=30, c_pps=10e3, d_s=0.07)
    over = stability_map(model, base_rtt_s=[0.05, 0.07], capacity_pps=[8e3, 10e3, 12e3])
    for i, d_s in enumerate((0.05, 0.07)):
        for j, c_pps in enumerate((8e3, 10e3, 12e3)):
            alone = stability(RenoRed(n=30, c_pps=c_pps, d_s=d_s))
            assert over.stability.gain_margin[i, j] == pytest.approx(float(alone.gain_margin))
    assert over.table.num_rows == 6
    with pytest.raises(AnalysisError, match="two of base_rtt_s, flows and capacity_pps"):
        stability_map(model, flows=[10, 20])


def test_where_a_map_has_no_equilibrium_it_has_no_number():
    """Σw ≥ c under (4.2.3)."""
    over = stability_map(Sbrm(**PAPER), flows=[30, 600], base_rtt_s=[0.05])
    assert over.stability.exists.ravel().tolist() == [True, False]
    assert not over.stability.stable.ravel()[1]
    assert over.table["gain_margin"].null_count == 1
    with pytest.raises(NoEquilibriumError, match="smaller willingness to pay"):
        equilibrium(Sbrm(**{**PAPER, "n": 600}))


@pytest.mark.parametrize(
    ("changed", "reported"),
    [
        ({"n": 0}, r"sources\[0\]\.count is 0"),
        ({"c_pps": float("nan")}, "capacity_pps is nan"),
        ({"d_s": -1}, r"sources\[0\]\.base_rtt_s is -1"),
        ({"gamma_per_packet": float("inf")}, "no number from 0 on"),
    ],
)
def test_what_is_no_number_above_zero_is_told(changed, reported):
    with pytest.raises(AnalysisError, match=reported):
        equilibrium(Sbrm(**{**PAPER, **changed}))


def test_all_errors_are_reported_together():
    with pytest.raises(
        AnalysisError, match=r"capacity_pps is 0; .*count is nan; .*base_rtt_s is 0"
    ):
        equilibrium(Sbrm(n=float("nan"), c_pps=0, d_s=0))


def test_cubic_is_aimd_until_its_law_of_time_gives_more():
    """RFC 9438, sections 4.3 and 5.1: √(1.5/p) packets, or 1.17 (R/p)^¾, whichever is more."""
    cubic = Cubic(count=1, base_rtt_s=0.01)
    p, near, far = np.asarray(1e-2), np.asarray(0.01), np.asarray(0.5)
    assert cubic.friendly(p, near)
    assert cubic.rate_pps(p, near) * near == pytest.approx(
        np.sqrt(0.5294 / 0.3 * 0.99 / 1e-2), rel=1e-3
    )
    assert not cubic.friendly(np.asarray(1e-4), far)
    assert cubic.rate_pps(np.asarray(1e-4), far) * far == pytest.approx(1.054 * 5e3**0.75, rel=1e-3)


def test_an_ack_for_two_packets_halves_renos_growth():
    plain, delayed = Reno(count=1, base_rtt_s=0.1), Reno(count=1, base_rtt_s=0.1, packets_per_ack=2)
    p, rtt_s = np.asarray(0.01), np.asarray(0.1)
    ratio = plain.rate_pps(p, rtt_s) / delayed.rate_pps(p, rtt_s)
    assert ratio == pytest.approx(np.sqrt(2))


def test_adaptive_red_rests_where_the_mean_queue_is_between_its_marks():
    base = {"min_threshold_packets": 50, "max_threshold_packets": 150}
    for start, want in ((0.02, 110), (0.4, 90)):
        queue = Bottleneck(
            capacity_pps=1e4,
            signal=AdaptiveRed(max_probability=start, **base),
            sources=(Reno(count=60, base_rtt_s=0.05),),
        ).equilibrium.queue_packets
        assert queue == pytest.approx(want)


RENO = (Reno(count=30, base_rtt_s=0.07),)
PAIRS = [
    (Red(spacing="uniform"), RENO),
    (Red(spacing="wait"), RENO),
    (Red(), (Cubic(count=30, base_rtt_s=0.07),)),
    (Red(), (Reno(count=30, base_rtt_s=0.07, packets_per_ack=2),)),
    (Red(), (*RENO, Cbr(count=1, base_rtt_s=0.07, offered_pps=2e3))),
    (PiecewiseLinear(points=((20, 0.0), (2020, 1.0))), RENO),
    (SbrmQueue(), (SbrmSteps(count=30, base_rtt_s=0.07),)),
    (SbrmQueue(), (SbrmSource(count=15, base_rtt_s=0.05), Reno(count=15, base_rtt_s=0.1))),
    (Pie(), (Cubic(count=50, base_rtt_s=0.07),)),
    (Pi2(), (Scalable(count=20, base_rtt_s=0.05), Reno(count=20, base_rtt_s=0.05))),
]


@pytest.mark.parametrize(("signal", "sources"), PAIRS)
def test_loop_and_fluid_tip_at_the_same_delay(signal, sources):
    """To a thousandth."""
    bottleneck = Bottleneck(capacity_pps=1e4, signal=signal, sources=sources)
    tipping = critical_delay(bottleneck)
    below, above = (
        growth_per_s(scaled(bottleneck, base_rtt=tipping.factor * by)) for by in (0.999, 1.001)
    )
    assert below < 0 < above


@pytest.mark.parametrize("signal", [Pie(), Pi2()])
def test_more_flows_on_a_link_as_much_faster_change_nothing(signal):
    """They go by delays alone."""
    one, ten = (
        stability(
            Bottleneck(
                capacity_pps=1e3 * by, signal=signal, sources=(Reno(count=6 * by, base_rtt_s=0.08),)
            )
        )
        for by in (1, 10)
    )
    assert one.gain_margin == pytest.approx(float(ten.gain_margin))
    assert one.phase_margin_deg == pytest.approx(float(ten.phase_margin_deg))


def test_models_draw_themselves_and_are_tables(tmp_path):
    model = RenoRed(n=30, c_pps=10e3, d_s=0.07)
    names = {path.name for path in draw_loop(model.bottleneck, tmp_path)}
    assert names == {"nyquist.png", "bode.png", "stability-map.png"}
    swing = fluid(model, duration_s=10)
    assert {path.name for path in draw_course(swing, tmp_path)} == {"fluid.png", "spectrum.png"}
    assert swing.table.column_names == [
        "time_s", "queue_packets", "probability", "window_0_packets",
    ]  # fmt: skip


def test_an_optimum_of_a_scenario_is_by_user():
    best = optimum("scenarios/parking-lot.toml")
    assert best.rates == pytest.approx((5e6 / 3, 5e6, 5e6, 5e6))
    equal = optimum("scenarios/parking-lot.toml", fairness="max-min")
    assert equal.rates == pytest.approx((10e6 / 3,) * 4)


def test_who_pays_for_more_than_a_link_has_is_told():
    flows = [Flow(links=("first",), count=30, weight=40.0)]
    with pytest.raises(AnalysisError, match=r"'first' \(1200 of 1000\)"):
        optimum({"first": 1000.0}, flows, fairness="sbrm")
