"""Derivations that explain: contradictions, from the scenarios' and the papers' numbers."""

import csv
import math
import tomllib
from pathlib import Path

import pytest

from tidegate.data import data_folder
from tidegate.studies.papers.experiments import TEN_PER_CENT
from tidegate.studies.papers.explanations import load_explanations

PACKET_BITS = 1500 * 8


def base(paper):
    return tomllib.loads((data_folder("papers") / paper / "base.toml").read_text(encoding="utf-8"))


def cell(paper, file, **levels):
    with (data_folder("papers") / paper / "expected" / file).open(
        encoding="utf-8", newline=""
    ) as lines:
        rows = [row for row in csv.DictReader(lines) if levels.items() <= row.items()]
    (row,) = rows
    return float(row["value"])


def jain(*shares):
    return sum(shares) ** 2 / (len(shares) * sum(share**2 for share in shares))


@pytest.mark.parametrize("paper", ["abc", "conex", "cpq"])
def test_every_derivation_that_an_explanation_names_is_a_test(paper):
    root = Path(__file__).parents[2]
    for one in load_explanations(data_folder("papers") / paper / "explanations.toml"):
        if one.derived_in:
            file, _, name = one.derived_in.partition("::")
            assert f"def {name}(" in (root / file).read_text(encoding="utf-8"), one.id


def test_reds_index_of_table_2_contradicts_the_papers_own_five_to_one():
    """Section V-B expects five times as much for five flows, and table IVb has it."""
    users = base("cpq")["users"]
    five, one = users["sender1"]["flows"], users["sender2"]["flows"]
    per_flow = jain(five, one)
    printed = cell("cpq", "table2_aggressiveness.csv", mechanism="RED", metric="jain_fairness")
    assert abs(per_flow / printed - 1) > TEN_PER_CENT.share
    # J = (1 + r)²/(2 (1 + r²)) for a ratio of r: the index as printed is 13 to one.
    ratio = (1 + math.sqrt(1 - (2 * printed - 1) ** 2)) / (2 * printed - 1)
    assert jain(ratio, 1) == pytest.approx(printed)
    assert ratio > 2 * five / one
    # Table IVb has RED share per flow, too: a flow over four queues gets a fifth of the others.
    four = cell("cpq", "table4b_mixed_deployment_fairness.csv", cpq_positions="none")
    assert four == pytest.approx(per_flow, rel=0.01)


def test_a_single_reno_flow_cannot_fill_the_long_link():
    """Table 6 with one competitor at 50 ms: two flows, and a queue shorter than half the path."""
    scenario = base("abc")
    rate_bps = 1e6 * float(scenario["bottleneck"]["rate"].removesuffix(" Mb/s"))
    access_ms = float(scenario["access"]["delay"].removesuffix(" ms"))
    path_packets = rate_bps * 2 * (50 + access_ms) / 1e3 / PACKET_BITS
    function = scenario["bottleneck"]["aqm"]["function"]
    drops_all_at = int(function.split("-")[3])
    largest_window = path_packets + drops_all_at
    # Halved, the window does not fill the path, so that the link idles until it has grown back.
    assert largest_window / 2 < path_packets
    # It grows by a packet a round trip: of the cycle from W/2 to W, this part is below the path,
    # and on average this share of the link idle in it.
    below = (path_packets - largest_window / 2) / (largest_window / 2)
    idle = below * (path_packets - largest_window / 2) / 2 / path_packets
    assert idle > 0.02  # the tolerance of the claim


def test_a_token_for_every_mark_contradicts_figure_8s_axis():
    """The axis begins at an unfairness of 5, also for r up to 5 packets/s.

    All packets meet the same marking probability p, so that users declare marks in proportion to
    what they send; and a long flow sends sqrt(1.5/p) packets a round trip, as CUBIC does where it
    keeps up with Reno.
    """
    scenario = base("conex")
    heavy, light = scenario["users"]["heavy"], scenario["users"]["light"]
    link_packets_per_s = float(scenario["bottleneck"]["rate"].split()[0]) * 1e6 / PACKET_BITS
    drawn, longest_s, run_s, depth, rate = 5.0, 0.1 + 0.045, 100.0, 45, 5
    light_packets_per_s = link_packets_per_s / (light["count"] + heavy["count"] * drawn)
    # p = 1.5/(rate RTT)^2; figure 16 draws at most 45 ms of queueing delay.
    light_marks_per_s = 1.5 / (light_packets_per_s * longest_s**2)
    assert drawn * light_marks_per_s > 1.05 * (rate + depth / run_s)
