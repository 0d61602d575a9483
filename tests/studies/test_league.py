"""The league: who takes part where, what is read of a run, what fails its claims."""

import re
import tomllib

import numpy as np
import pytest
from support import ROOT

from tidegate.data import data_folder
from tidegate.errors import UsageError
from tidegate.results.statistics import jain_index
from tidegate.scenarios.reading import parse, toml_value
from tidegate.studies.factors import read_factors
from tidegate.studies.judge import judge_claim
from tidegate.studies.load import load_study
from tidegate.studies.points import Point, Points
from tidegate.studies.reproduce import only_levels
from tidegate.studies.runner import native_engine
from tidegate.studies.verdict import Verdict

from .synthetic import estimate

FOLDER = data_folder("studies") / "league"


@pytest.fixture(scope="module")
def study():
    return load_study("league")


@pytest.fixture(scope="module")
def mechanisms():
    return read_factors({"mechanism": {"levels": "mechanisms.toml"}}, FOLDER)["mechanism"]


def settings(study, situation, *names):
    series = study.experiments[situation].series["mechanisms"]
    return {s.levels["mechanism"]: s for s in series.settings if s.levels["mechanism"] in names}


def users(setting):
    return tomllib.loads(native_engine(setting.base, setting.overrides).to_toml())["users"]


def run(study, setting, *short):
    simulation = native_engine(setting.base, [*setting.overrides, *short])
    columns = simulation.run(1)
    kept = study.measures.keep(simulation, columns, setting.names)
    return {name: one.mean for name, one in study.measures.of([kept]).items()}, simulation, columns


@pytest.mark.parametrize("quick", [False, True])
def test_every_mechanism_can_be_run_in_every_situation(quick, mechanisms):
    study = load_study("league", quick=quick)
    there = set()
    for experiment in study.experiments.values():
        for series in experiment.series.values():
            for setting in series.settings:
                native_engine(setting.base, setting.overrides).check_simulator()
            there |= {setting.levels["mechanism"] for setting in series.settings}
    left_out = {n for n, kind in mechanisms.kinds.items() if quick and kind.startswith("bucket")}
    assert there | left_out == set(mechanisms.named)
    files = {path.stem for path in (FOLDER / "situations").glob("*.toml")}
    # Measured on real Linux alone.
    assert files - {"cubic-and-bbr"} <= set(study.experiments)


def test_runs_are_measured_when_all_buckets_may_have_filled(study, mechanisms):
    warm_up_s = {
        native_engine(setting.base, ()).warm_up_s
        for experiment in study.experiments.values()
        for series in experiment.series.values()
        for setting in series.settings
    }
    assert warm_up_s == {760.0}
    bits = {"B": 8, "kB": 8e3, "b/s": 1, "kb/s": 1e3, "B/s": 8}
    red = '{ kind = "red", min_threshold = "10 packets", max_threshold = "30 packets" }'
    filled = 0
    for name, changes in mechanisms.named.items():
        policer = changes.get("{link}.differentiation", {"kind": "abc"})
        if policer["kind"] == "abc":
            continue
        sets = [("bottleneck.aqm", red), ("bottleneck.differentiation", toml_value(policer))]
        own = tomllib.loads(parse((FOLDER / "situations/equals.toml"), sets).to_toml())
        reported = own["bottleneck"]["differentiation"]
        depth, rate = (
            float(number) * bits[unit]
            for number, unit in (reported[key].split() for key in ("depth", "fill_rate"))
        )
        assert depth / rate <= 760.0, name
        # What takes longer than a short run warms up is left out there.
        assert (depth / rate > 40.0) == mechanisms.kinds[name].startswith("bucket"), name
        filled += 1
    assert filled == 12


def test_delays_are_packets_of_the_link(study):
    slow, fast = (
        dict(settings(study, name, "piecewise-linear")["piecewise-linear"].overrides)
        for name in ("equals", "thousand")
    )
    # 20.4 ms at 20 Mb/s are 34 packets of 1500 B.
    assert "[34, 0.01]" in slow["bottleneck.aqm"]
    assert "[340, 0.01]" in fast["bottleneck.aqm"]


def test_those_who_pay_get_their_senders_and_their_own_offers(study):
    setting = settings(study, "weights", "sbrm")["sbrm"]
    control = {
        group: user["tcp"]["congestion_control"]["willingness_to_pay"]
        for group, user in users(setting).items()
    }
    assert control == {"one": 50.0, "two": 100.0, "four": 200.0}
    ignoring = users(settings(study, "ignoring-prices", "sbrm")["sbrm"])["ignoring"]
    assert "congestion_control" not in ignoring.get("tcp", {})
    assert not settings(study, "equals", "sbrm")


def test_all_who_have_tcp_declare_and_where_some_offer_those_alone(study):
    def declaring(situation):
        there = users(settings(study, situation, "conex")["conex"])
        assert all("conex-policer" in str(user) for user in there.values())
        return {group for group, user in there.items() if user.get("tcp", {}).get("conex")}

    assert declaring("udp-flood") == {"tcp"}
    assert declaring("shared-offer") == {"heavy", "light"}
    assert declaring("ignoring-prices") == {"paying"}
    ecn = users(settings(study, "ecn", "conex")["conex"])
    assert declaring("ecn") == {"ecn", "no-ecn"}
    # ECN is what this situation is about.
    assert ecn["ecn"]["tcp"]["ecn"] is True
    assert not ecn["no-ecn"]["tcp"].get("ecn")


def test_a_customers_rate_is_that_of_its_flows_together(study):
    setting = settings(study, "many-flows", "abc-red")["abc-red"]
    short = (("warm_up", '"2 s"'), ("duration", '"3 s"'))
    found, simulation, columns = run(study, setting, *short)
    flows = columns["flows"]
    rates = np.bincount(np.asarray(flows["user"]), np.asarray(flows["goodput_bps"]))
    heavy = simulation.groups.index("heavy")
    groups = np.asarray(simulation.user_groups)
    above, below = rates[groups == heavy].mean(), rates[groups != heavy].mean()
    assert found["ratio"] == pytest.approx(above / below)
    assert found["jain"] == pytest.approx(jain_index(rates))
    assert found["utilization"] > 0.9
    assert "completion_s" not in found


def test_who_fetches_now_and_then_is_measured_while_it_fetches(study):
    setting = settings(study, "waking", "drr")["drr"]
    begin, end = 20.0, 60.0
    short = (("warm_up", f'"{begin} s"'), ("duration", f'"{end - begin} s"'))
    found, simulation, columns = run(study, setting, *short)
    transfers = columns["transfers"]
    start = np.asarray(transfers["start_s"])
    stop = start + np.nan_to_num(np.asarray(transfers["completion_s"], float), nan=np.inf)
    inside = (start < end) & (stop > begin)
    spent = np.minimum(stop, end)[inside] - np.maximum(start, begin)[inside]
    flows = columns["flows"]
    waking = np.asarray(flows["group"]) == simulation.groups.index("waking")
    goodput = np.asarray(flows["goodput_bps"])
    rate = goodput[waking].sum() * (end - begin) / spent.sum()
    assert found["ratio"] == pytest.approx(goodput[~waking].sum() / 5 / rate)
    done = max((stop[inside] <= end).sum(), 1)
    assert found["completion_s"] == pytest.approx(spent.sum() / done)


def test_offers_weigh_in_jains_index(study):
    setting = settings(study, "weights", "sbrm")["sbrm"]
    short = (("warm_up", '"5 s"'), ("duration", '"5 s"'))
    found, simulation, columns = run(study, setting, *short)
    offers = {"one": 50, "two": 100, "four": 200}
    groups = [simulation.groups[one] for one in simulation.user_groups]
    rates = np.asarray(columns["flows"]["goodput_bps"])
    over = [rate / offers[group] for rate, group in zip(rates, groups, strict=True)]
    assert found["jain"] == pytest.approx(jain_index(over))


def test_a_packet_costs_time_and_a_meter_memory(study):
    experiment = load_study("league", quick=True).experiments["cost"]
    from tidegate.studies.sides.model import compute

    costs = {}
    for setting in experiment.series["mechanisms"].settings:
        if setting.levels["mechanism"] in ("drop-tail", "abc-red"):
            costs[setting.levels["mechanism"]] = compute(
                "packet-cost",
                setting.levels,
                lambda more, s=setting: native_engine(s.base, [*s.overrides, *more]),
            )
    assert all(cost["cpu_ns"] > 0 for cost in costs.values())
    assert costs["drop-tail"]["edge_state_per_customer_bytes"] == 0
    assert costs["abc-red"]["edge_state_per_customer_bytes"] > 8


def verdicts_of(study, changed):
    """Verdicts on two claims, where every point has the same values but those named here."""
    points = {}
    for name, experiment in study.experiments.items():
        for key, series in experiment.series.items():
            usual = {"ratio": 1.0, "jain": 0.99, "p95_delay_s": 0.1}
            points[name, key] = [
                Point(s.levels, {
                    metric: estimate(changed.get((name, s.levels["mechanism"], metric), one), 1e-6)
                    for metric, one in usual.items()
                })
                for s in series.settings
            ]  # fmt: skip
    claims = {one.id: one for each in study.experiments.values() for one in each.claims}
    return [
        judge_claim(claims[name], Points(points)).verdict
        for name in ("csfq-is-near-abc", "fq-codel-is-by-flow")
    ]


def test_a_sentence_that_the_numbers_contradict_fails(study):
    fair = {("rate-drop", "csfq", "ratio"): 2.9, ("many-flows", "fq-codel", "ratio"): 10.0}
    assert set(verdicts_of(study, fair)) == {Verdict.HELD}
    less = {**fair, ("many-flows", "csfq", "ratio"): 1.4}
    assert verdicts_of(study, less) == [Verdict.FAILED, Verdict.HELD]
    assert verdicts_of(study, {}) == [Verdict.FAILED, Verdict.FAILED]


def test_a_choice_of_levels_leaves_out_all_others_and_what_is_judged(study):
    red = only_levels(study, {"mechanism": ["red"]})
    series = [one for each in red.experiments.values() for one in each.series.values()]
    assert {s.levels["mechanism"] for one in series for s in one.settings} == {"red"}
    assert not any(each.claims for each in red.experiments.values())
    with pytest.raises(UsageError, match="did you mean red"):
        only_levels(study, {"mechanism": ["redd"]})
    with pytest.raises(UsageError, match="there are none"):
        only_levels(study, {"mechanisms": ["red"]})


def test_one_mechanism_in_one_situation_is_printed_as_a_table(tidegate_command):
    asked = ("reproduce", "league/equals", "--only", "mechanism=red", "--quick")
    done = tidegate_command(*asked, "--replications", "1")
    assert done.returncode == 0, done.stderr
    assert "Jain" in done.stdout
    assert "RED" in done.stdout
    assert "drop-tail" not in done.stdout
    folder = tidegate_command.folder / "results/reproduce-league-equals-mechanism=red-quick"
    page = (folder / "RESULTS.md").read_text(encoding="utf-8")
    # The study's own page is about everything.
    assert "| RED |" in page
    assert "What to choose" not in page
    assert tidegate_command(*asked, "--check").returncode == 2
    assert tidegate_command(*asked[:2], "--only", "red").returncode == 2


def test_the_page_names_what_there_is(study, mechanisms):
    page = (FOLDER / "page.md").read_text(encoding="utf-8")
    places = {*study.experiments, *study.numbers.places}
    levels = {*mechanisms.named, *study.numbers.levels}
    numbers = re.findall(r"\{(\w+)\(([\w|-]+), *([\w|-]+)\)\}", page)
    assert len(numbers) > 100
    assert len(numbers) == page.count("{")
    for metric, where, which in numbers:
        assert set(where.split("|")) <= places
        assert set(which.split("|")) <= levels
        assert metric in study.measures.metrics or "cost" in where
    for title in mechanisms.about.values():
        if "page" in title:
            assert (ROOT / f"docs/mechanisms/{title['page']}.md").is_file()
    blocks = set(re.findall(r"<!-- (?:table|claims|figure): ([\w-]+) -->", page))
    assert blocks == set(study.experiments)
