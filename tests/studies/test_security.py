"""What lies and floods gain: the study's data, what is read of a run, what fails its claims."""

import re

import pytest

from tidegate.data import data_folder
from tidegate.studies.judge import judge_claim
from tidegate.studies.load import load_study
from tidegate.studies.points import Point, Points
from tidegate.studies.relative import with_relatives
from tidegate.studies.runner import native_engine
from tidegate.studies.verdict import Verdict

from .synthetic import estimate

BUCKET_BPS = 4e6


@pytest.fixture(scope="module")
def study():
    return load_study("security")


def settings(study, experiment, **levels):
    return [
        setting
        for series in study.experiments[experiment].series.values()
        for setting in series.settings
        if levels.items() <= setting.levels.items()
    ]


def scenario(setting, *more):
    return native_engine(setting.base, [*setting.overrides, *more])


def measured(study, setting, *more):
    """Means of one run."""
    simulation = scenario(setting, *more)
    run = study.measures.keep(simulation, simulation.run(simulation.seed))
    return {name: one.mean for name, one in study.measures.of([run]).items()}


def test_each_defence_has_its_stages_and_no_other(study):
    both = {"ingress", "egress"}
    ends = {
        "policer": {"ingress"}, "per-flow": {"ingress"}, "per-user": {"ingress"}, "both": both,
        "near": both, "charged-once": both, "once": both,
        "oversold": both, "positive": both, "cap": {"ingress"}, "cap-oversold": {"ingress"},
    }  # fmt: skip
    for experiment in ("lies", "floods"):
        for setting in settings(study, experiment):
            stages = scenario(setting).plan()["stages"]
            there = {one["name"].split(".")[-2] for one in stages}
            assert there == ends.get(setting.levels["defence"], set()), setting.levels


def test_every_strategy_is_measured_by_one_that_sends_alike(study):
    def answers(setting):
        return dict(setting.overrides).get("users.cheat.traffic", "").find('"cbr"') < 0

    at_once = {s.levels["strategy"]: s for s in settings(study, "lies", flows=4, defence="none")}
    for strategy, setting in at_once.items():
        assert answers(setting) == answers(at_once[setting.levels["alike"]]), strategy


def test_an_honest_flow_as_cover_counts_as_the_liars(study):
    (setting,) = settings(study, "lies", flows=4, strategy="cover", defence="both")
    short = (("warm_up", '"0 s"'), ("duration", '"1 s"'))
    simulation = scenario(setting, *short)
    flows = simulation.run(simulation.seed)["flows"]
    groups = [simulation.groups[number] for number in flows["group"]]
    assert groups.count("cheat") == 3
    assert groups.count("cover") == 1
    own = [
        bps
        for group, bps in zip(groups, flows["goodput_bps"], strict=True)
        if group in ("cheat", "cover")
    ]
    found = measured(study, setting, *short)
    assert found["goodput_bps"] == pytest.approx(sum(own))
    # Eighty flows are in slow start at once: a round trip has more marks than their credit covers.
    seeds = [(*short, ("seed", str(seed))) for seed in range(1, 6)]
    lost = [measured(study, setting, *changes)["lost_to_auditor"] for changes in seeds]
    assert all(0.0 <= share < 0.05 for share in lost)
    assert sum(lost) / len(lost) < 0.01


def test_numbers_of_a_flood_are_those_of_its_phases(study):
    (setting,) = settings(study, "floods", attackers=1, flood="udp", defence="both")
    found = measured(study, setting)
    # What comes in, and what the bucket has at first.
    held_bps = 2.5e6 + 100e3 * 8 / 60.0
    assert found["attack_during_bps"] == pytest.approx(held_bps, rel=0.02)
    assert found["kept_during"] == pytest.approx(1.0, abs=0.05)
    assert 0.1 < found["response_during_s"] < 0.5


def test_whoever_is_in_a_tunnel_is_the_customers(study):
    (setting,) = settings(study, "tunnels", tunnel="mixed")
    found = measured(study, setting)
    assert found["goodput_bps"] == pytest.approx(BUCKET_BPS, rel=0.03)
    assert 2.5e6 < found["others_bps"] < BUCKET_BPS


def test_each_way_to_share_a_tunnel_is_compared_with_one_that_sends_alike(study):
    offered = {}
    for setting in settings(study, "tunnels"):
        simulation = scenario(setting)
        groups = [simulation.groups[one] for one in simulation.user_groups]
        flows = [one for one in simulation.plan()["flows"] if groups[one["user"]] != "honest"]
        offered[setting.levels["tunnel"]] = len(flows), len(groups) - 4
    assert offered["downloaders"] == (10, 5)
    assert offered["downloads"] == (10, 1)
    assert offered["flood"] == (1, 1)
    assert offered["floods"] == offered["mixed"] == (5, 5)


def verdicts(study, experiment, series, **special):
    """Verdicts on all claims, where every point has the same values but those named here."""
    usual = {
        "goodput_bps": 1e6, "lost_to_auditor": 0.0, "declared_of_met": 1.2, "policed_share": 0.0,
        "kept_during": 1.0, "kept_after": 1.0, "slower_during": 1.0, "slower_after": 1.0,
    }  # fmt: skip
    where, values = special.get("where", {}), special.get("values", {})
    points = []
    for setting in study.experiments[experiment].series[series].settings:
        own = values if where and where.items() <= setting.levels.items() else {}
        metrics = {name: estimate(value, 0.01 * value) for name, value in {**usual, **own}.items()}
        points.append(Point(setting.levels, metrics))
    found = with_relatives(Points({(experiment, series): points}), study.relatives)
    claims = study.experiments[experiment].claims
    return {claim.id: judge_claim(claim, found).verdict for claim in claims}


@pytest.mark.parametrize(
    ("strategy", "flows", "values", "failing"),
    [
        ("never", 16, {}, None),
        ("never", 16, {"goodput_bps": 1.2e6}, "lies-do-not-gain"),
        ("blind-5", 4, {"goodput_bps": 1.2e6}, "lies-do-not-gain"),
        ("honest", 16, {"goodput_bps": 1.2e6}, None),
        ("never", 16, {"lost_to_auditor": 0.002}, "honest-users-lose-little-beside-lies"),
        ("honest-udp", 4, {"declared_of_met": 0.9}, "honest-udp-declares-what-it-meets"),
        ("honest-udp", 4, {"policed_share": 0.01}, "honest-udp-is-within-its-allowance"),
    ],
)
def test_a_liar_who_gains_and_honest_users_who_lose_fail(study, strategy, flows, values, failing):
    where = {"strategy": strategy, "flows": flows, "defence": "both"}
    found = verdicts(study, "lies", "cheats", where=where, values=values)
    failed = [name for name, verdict in found.items() if verdict is not Verdict.HELD]
    assert failed == ([failing] if failing else [])


@pytest.mark.parametrize(
    ("values", "failing"),
    [
        ({"kept_during": 0.84}, "victims-keep-their-throughput"),
        ({"kept_after": 0.80}, "victims-keep-their-throughput"),
        ({"slower_during": 1.3}, "pages-stay-fast"),
    ],
)
def test_victims_who_lose_fail(study, values, failing):
    where = {"attackers": 10, "flood": "udp", "defence": "both"}
    found = verdicts(study, "floods", "floods", where=where, values=values)
    assert [name for name, verdict in found.items() if verdict is Verdict.FAILED] == [failing]


def test_company_in_a_tunnel_that_gains_fails(study):
    values = {"goodput_bps": 4.4e6}
    found = verdicts(study, "tunnels", "tunnels", where={"tunnel": "floods"}, values=values)
    assert found == {"company-does-not-gain": Verdict.FAILED}


@pytest.mark.parametrize("name", ["security", "mobile", "stability"])
def test_pages_have_all_their_blocks(name):
    for template in (data_folder("studies") / name).glob("page*.md"):
        page = template.with_name(template.name.replace("page", "RESULTS")).read_text("utf-8")
        # Prose between blocks stands in the page as it is.
        for prose in re.split(r"<!-- [^>]* -->", template.read_text(encoding="utf-8")):
            assert prose.strip() in page
        assert "<!--" not in page
