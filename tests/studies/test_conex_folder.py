"""The data of studies/conex: complete, consistent, and understood by the scenario reader."""

import csv
import re
from collections import Counter, defaultdict

import pytest

from tidegate.studies.checks import KINDS
from tidegate.studies.explanations import StudyExplanation, read_explanations
from tidegate.studies.load import load_study
from tidegate.studies.points import capped
from tidegate.studies.runner import native_engine
from tidegate.studies.wanted import measurable, relevant, wanted_series

CLAIMS = {
    "baseline": 1, "fig8": 11, "fig9": 1, "fig10": 1, "fig11": 3, "fig12": 4, "fig13": 4,
    "fig14": 6, "fig15": 3, "fig16": 5, "fig17": 10, "fig18": 10, "fig19": 7, "table4": 4,
    "fig20": 9, "fig21": 9, "fig22": 7, "functions": 3,
}  # fmt: skip


@pytest.fixture(scope="module")
def paper():
    return load_study("conex")


def test_each_claim_belongs_to_one_experiment(paper):
    claims = Counter(claim.id for one in paper.experiments.values() for claim in one.claims)
    assert set(claims.values()) == {1}
    counts = {name: len(one.claims) for name, one in paper.experiments.items()}
    assert counts == {name: CLAIMS[name] for name in counts}
    published = (paper.folder / "claims.toml").read_text(encoding="utf-8")
    assert published.count("[[claim]]") == sum(counts.values()) == 98


def test_kinds_of_checks_are_known(paper):
    for experiment in paper.experiments.values():
        for claim in experiment.claims:
            kinds = {part.get("check", {}).get("kind", claim.check["kind"]) for part in claim.parts}
            assert kinds <= set(KINDS), claim.id


def test_the_16_stars_have_a_rank_each(paper):
    cells = [cell for one in paper.experiments.values() for cell in one.cells]
    assert len(cells) == 16
    stars = paper.experiments["table4"].series["stars"].ranking
    assert {cell.metric for cell in cells} == set(stars.of)
    assert {cell.tolerance.share for cell in cells} == {0.0}


def test_it_has_the_papers_points(paper):
    """Sanhaji et al. 2015: 714 points with a policer in section IV, 11 each in V and VI.

    And 37 without one in section IV: the default; 4 other round trips; Compound; 16 of RED; 15 of
    variants and flows. In V 1, in VI 2, and in both one with nothing else on the link.
    """
    scenarios = defaultdict(set)
    for experiment in paper.experiments.values():
        for series in experiment.series.values():
            for setting in series.settings if series.simulated else ():
                if "reading" not in setting.levels:
                    text = native_engine(setting.base, setting.overrides).to_toml()
                    policed = setting.levels["policer"] != "none"
                    scenarios[experiment.section.partition("-")[0], policed].add(text)
    assert {section: len(texts) for section, texts in scenarios.items()} == {
        ("IV", True): 714, ("V", True): 11, ("VI", True): 11,
        ("IV", False): 37, ("V", False): 2, ("VI", False): 3,
    }  # fmt: skip


def test_the_texts_own_words_stand_beside_every_line_of_figures_8_to_22(paper):
    for name in (f"fig{number}" for number in range(8, 23)):
        taken, worded = (
            {
                frozenset(setting.levels.items() - {("reading", "as worded")})
                for setting in paper.experiments[name].series[series].settings
            }
            for series in ("tcp", "worded")
        )
        assert worded == taken
        assert "worded" in paper.experiments[name].figure["series"]


def test_a_hurry_leaves_out_what_is_ours_and_none_of_the_papers_points(paper):
    quick = load_study("conex", quick=True)
    explanations = read_explanations(paper.folder / "explanations.toml", StudyExplanation)
    rest = measurable(explanations, quick.without)
    assert rest
    assert all(one.derived_in or not one.assuming for one in rest)
    wanted = wanted_series(quick, list(quick.experiments.values()), rest)
    all_of_it = {(e.name, s.name) for e in paper.experiments.values() for s in e.series.values()}
    assert wanted.keys() == {key for key in all_of_it if key[1] != "worded"}
    assert all(wanted[e.name, s.name].settings == s.settings
               for e in paper.experiments.values() for s in e.series.values()
               if s.name != "worded")  # fmt: skip
    runs = {key: capped(one, quick.quick_replications) for key, one in wanted.items()
            if one.simulated and one.replications > 3}  # fmt: skip
    assert set(runs.values()) == {3, 10}
    assert {name for (name, _), count in runs.items() if count == 10} == {"table4"}
    assert all("worded" not in one.figure["series"]
               for one in quick.experiments.values() if one.figure)  # fmt: skip


def test_stars_of_another_assumption_bring_the_runs_that_they_rank(paper):
    explanations = read_explanations(paper.folder / "explanations.toml", StudyExplanation)
    chosen = [paper.experiments["table4"]]
    wanted = wanted_series(paper, chosen, relevant(explanations, chosen))
    assert wanted["sensitivity", "stopping-all-stars"].ranking is not None
    assert len(wanted["sensitivity", "stopping-all-36"].settings) == 56


def test_levels_reach_the_scenario(paper):
    (one,) = (
        setting for setting in paper.experiments["fig9"].series["tcp"].settings
        if (setting.levels["d"], setting.levels["r"]) == (12, 45)
    )  # fmt: skip
    text = native_engine(one.base, one.overrides).to_toml()
    for part in ('curve = "soft"', 'depth = "12 packets"', 'fill_rate = "45 packets/s"'):
        assert text.count(part) == 2
    variants = {
        setting.levels["case"]: native_engine(setting.base, setting.overrides).to_toml()
        for setting in paper.experiments["fig19"].series["tcp"].settings
    }
    assert {name for name, text in variants.items() if 'kind = "red"' not in text} == {"DTConEx"}


def test_what_is_taken_is_the_reading_whose_page_holds_most(paper):
    with (paper.folder / "search.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    readings = defaultdict(set)
    for row in rows:
        readings[row["stage"]].add(row["reading"])
    assert len(readings["first"]) == 144
    assert readings["once"] >= {name for name in readings["first"] if "full at first" in name}
    assert readings["page"] <= readings["again"] <= readings["once"] <= readings["first"]
    # Of equal ones that stands first in the table.
    pages = [row for row in rows if row["stage"] == "page"]
    best = max(pages, key=lambda row: (int(row["held"]), int(row["stars"])))
    assert best["reading"] == (
        "declared, paid last, owes a packet, full at first, each loss that ACKs tell, on new data"
    )
    for setting in paper.experiments["fig8"].series["tcp"].settings:
        text = native_engine(setting.base, setting.overrides).to_toml()
        assert text.count('losses = "reported"') == text.count('carrier = "new-data"') == 1
        if setting.levels["policer"] != "none":
            for part in (
                'drops = "declared"',
                "charge_dropped = false",
                'judged = "as-found"',
                'floor = "1 packets"',
            ):
                assert text.count(part) == 2
            assert full_at_first(text)


def full_at_first(text):
    """Whether no bucket has another fill at first than its depth."""
    return all(
        fill == depth for depth, fill in re.findall(r'depth = "(.*?)", initial = "(.*?)"', text)
    )


# What ns-2.35 measures (Agent/TCP/Linux with CUBIC, Agent/TCPSink/Sack1, time stamps, window_ 44):
# twenty flows over 400 s, a round trip of 100 ms, and packets lost at random with a probability
# before a link that is never full. Packets delivered and time-outs of a flow in a second.
NS2 = {0.01: (130.0, 0.0), 0.05: (46.1, 0.012), 0.1: (23.8, 0.161), 0.2: (9.97, 0.573)}


@pytest.mark.parametrize("loss", NS2)
def test_the_sender_is_ns2s_for_linux(loss):
    packets_per_s, time_outs_per_s = NS2[loss]
    head, _, users = (
        (load_study("conex").folder / "base.toml").read_text("utf-8").partition("[users.heavy]")
    )
    alone = head + "[users.light]" + users.partition("[users.light]")[2]
    changes = {
        "users.light.count": "10", "bottleneck.loss": str(loss), "bottleneck.ecn": "false",
        "bottleneck.aqm": '{ kind = "drop-tail" }', "tcp.ecn": "false", "tcp.feedback": '"classic"',
        "tcp.conex": '"off"',
    }  # fmt: skip
    scenario = native_engine(alone, list(changes.items()))
    runs = [scenario.run(seed)["flows"] for seed in range(1, 5)]
    per_s = {
        name: sum(sum(flows[name]) for flows in runs) / 4 / 10 / 100
        for name in ("packets_delivered", "timeouts")
    }
    assert per_s["packets_delivered"] == pytest.approx(packets_per_s, rel=0.08)
    assert per_s["timeouts"] == pytest.approx(time_outs_per_s, rel=0.1, abs=0.02)
