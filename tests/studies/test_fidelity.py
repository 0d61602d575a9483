"""The fidelity study: its scenarios, its pages, and what its explanations rest on."""

import json
import re
import tomllib
from collections import Counter

import numpy as np
import pyarrow.parquet as pq
import pytest

import tidegate
from tidegate.data import data_folder
from tidegate.runs.execution import Threads
from tidegate.scenarios.reading import parse
from tidegate.studies.load import load_study
from tidegate.studies.metrics import Measures
from tidegate.studies.reads import Read
from tidegate.studies.runner import Runner, native_engine
from tidegate.studies.sides.measured import measured

FOLDER = data_folder("studies") / "fidelity"


@pytest.fixture(scope="module")
def study():
    return load_study("fidelity")


def settings(study, experiment, series="simulated"):
    return study.experiments[experiment].series[series].settings


def scenario(setting):
    return native_engine(setting.base, setting.overrides)


@pytest.mark.parametrize(
    ("experiment", "folder"), [("first", "."), ("held-out", "held-out"), ("ns2", "ns2")]
)
def test_every_scenario_of_a_folder_is_compared(study, experiment, folder):
    files = {file.stem for file in (FOLDER / folder).glob("[0-9]*-*.toml")}
    for series in study.experiments[experiment].series.values():
        assert {one.levels["case"] for one in series.settings} == files
    for setting in settings(study, experiment):
        reported = (FOLDER / folder / f"{setting.levels['case']}.toml").read_text(encoding="utf-8")
        title = study.experiments[experiment].factors["case"].title(setting.levels["case"])
        assert title == f"{setting.levels['case']}: {tomllib.loads(reported)['description']}"
        assert scenario(setting).seed == parse(reported).seed


def test_enough_scenarios_are_run_long_enough_and_can_be_simulated(study):
    first, held_out = (
        [scenario(one) for one in settings(study, name)] for name in ("first", "held-out")
    )
    assert len(first) >= 14
    assert len(held_out) >= 12
    for one in (*first, *held_out):
        assert not one.simulator_lacks()
        assert one.duration_s >= 30


def test_the_held_out_set_has_every_queue_and_controller_of_the_kernel(study):
    queues, controllers = set(), set()
    for setting in settings(study, "held-out"):
        plan = scenario(setting).plan()
        link = next(one for one in plan["links"] if one["name"] == "bottleneck")
        kind = link["scheduler"]["kind"]
        queues.add(kind if kind != "fifo" else link["aqm"]["kind"])
        controllers |= {one["tcp"]["congestion_control"]["kind"] for one in plan["flows"]}
    assert queues == {"drop-tail", "red", "codel", "pie", "fq-codel"}
    assert controllers == {"reno", "cubic", "dctcp"}


def test_every_policer_of_the_paper_is_measured_with_red_beside_it(study):
    experiment = study.experiments["cpq"]
    found = [scenario(one) for one in settings(study, "cpq", "linux")]
    kinds = {"none": 1, "icp": 3, "afcp": 2, "aicp-a": 1, "aicp-b": 1}
    written = [tomllib.loads(one.to_toml()) for one in found]
    assert Counter(one["bottleneck"]["differentiation"]["kind"] for one in written) == kinds
    assert all(not one.simulator_lacks() and one.duration_s >= 60 for one in found)
    assert len({one.to_toml() for one in found}) == len(found)
    printed = load_study("cpq").experiments["table2"].cells
    ours = {
        (experiment.factors["mechanism"].title(one.levels["mechanism"]), metric): value.mean
        for one in settings(study, "cpq", "paper")
        for metric, value in measured(experiment.series["paper"].measured, one.levels).items()
    }
    names = {"jain_fairness": "jain", "bottleneck_utilization": "utilization"}
    theirs = {(c.levels["mechanism"], names[c.metric]): c.value for c in printed}
    assert ours == {key: value for key, value in theirs.items() if key[0] != "DRR"}


def test_the_papers_ratios_are_those_of_its_table(study):
    series = study.experiments["abc"].series["paper"]
    printed = {
        cell.levels["gamma"]: cell.value
        for cell in load_study("abc").experiments["table2"].cells
        if {"D_b_ms": 5, "u_0": 1, "u_1": 10}.items() <= cell.levels.items()
    }
    assert printed
    for one in series.settings:
        known = measured(series.measured, one.levels)["ratio"].mean
        assert known == printed[one.levels["gamma"]]


def test_only_what_has_bbr_is_not_simulated(study):
    series = study.experiments["mixes"].series
    simulated = {one.levels["users"] for one in series["simulated"].settings}
    for one in series["linux"].settings:
        users = one.levels["users"]
        assert ("bbr" in users) == (users not in simulated)


def test_the_parts_of_a_run_make_the_whole(study):
    some = [s for s in settings(study, "cpq-parts") if s.levels["mechanism"] == "red"]
    short = (("warm_up", '"1 s"'), ("intervals", '{ count = 6, length = "1 s" }'))
    runner = Runner(native_engine, study.measures, always=short)
    found = [study.measures.of(runner.runs(one, 1)) for one in some]
    whole = found[0]
    for part, all_of in (("part_first_mbps", "first_bps"), ("part_second_mbps", "second_bps")):
        mean = sum(one[part].mean for one in found) / len(found)
        assert mean * 1e6 == pytest.approx(whole[all_of].mean, rel=1e-4)
    utilization = sum(one["part_utilization"].mean for one in found) / len(found)
    assert utilization == pytest.approx(whole["utilization"].mean, rel=1e-4)


def test_the_ratio_is_between_groups_or_between_halves_of_one(study):
    def ratio(case):
        (setting,) = (s for s in settings(study, "first") if s.levels["case"] == case)
        short = (("warm_up", '"1 s"'), ("duration", '"3 s"'))
        runner = Runner(native_engine, study.measures, always=short)
        flows = scenario(setting).__class__.parse(
            scenario(setting).to_toml(), list(short)
        ).run(1)["flows"]  # fmt: skip
        found = study.measures.of(runner.runs(setting, 1))
        return found.get("ratio"), [float(bps) for bps in flows["throughput_bps"]]

    heavy, bps = ratio("11-heavy-light")
    assert heavy.mean == pytest.approx(sum(bps[:10]) / (sum(bps[10:]) / 10))
    equal, bps = ratio("04-two-reno")
    assert equal.mean == pytest.approx(max(bps) / min(bps))
    alone, _ = ratio("01-one-reno")
    assert alone is None


def test_pages_have_all_their_blocks():
    for template in FOLDER.glob("page*.md"):
        page = template.with_name(template.name.replace("page", "RESULTS")).read_text("utf-8")
        for prose in re.split(r"<!-- [^>]* -->", template.read_text(encoding="utf-8")):
            assert prose.strip() in page
        assert "<!--" not in page


def test_the_page_has_what_packetdrill_found():
    page = (FOLDER / "page.md").read_text(encoding="utf-8")
    rows = json.loads((FOLDER / "packetdrill.json").read_text(encoding="utf-8"))
    passed = [row for row in rows if row["verdict"] == "passed"]
    assert f"**{len(passed)} of the {len(rows)} scripts pass**" in page
    for row in rows:
        if row["verdict"] != "passed":
            assert f"| `{row['script']}` | line {row['line']}: {row['why']} |" in page
        elif row.get("other_ticks"):
            assert f"`{row['script']}` passes with a clock of {row['other_ticks']} ticks" in page
    own = json.loads((FOLDER / "packetdrill-accurate-ecn.json").read_text(encoding="utf-8"))
    assert {row["verdict"] for row in own} == {"passed"}
    assert f"**All {len(own)} scripts pass**" in page


LOST = Measures({
    "lost": Read("links", "drops_full + drops_aqm + drops_wire + drops_policer"),
    "all": Read("links", "drops_full + drops_aqm + drops_policer + departures"),
})  # fmt: skip


def lost(file, *changes, runs):
    """Mean share of packets that are lost."""
    reads = {
        name: Read(one.table, one.column, {"name": "bottleneck"})
        for name, one in LOST.reads.items()
    }
    text = (FOLDER / file).read_text(encoding="utf-8")
    runner = Runner(native_engine, Measures(reads), Threads(), always=changes)
    from tidegate.studies.factors import Setting

    done = runner.runs(Setting({}, (), text), runs)
    return np.mean([run.readings["lost"] / run.readings["all"] for run in done])


def beside_the_only_run(study, experiment, metric, series="kernel", **levels):
    """Thirty simulated runs in order, and the kernel's number."""
    (ours,) = (s for s in settings(study, experiment) if s.levels == levels)
    runs = Runner(native_engine, study.measures, Threads()).runs(ours, 30)
    each = [study.measures.of([run])[metric].mean for run in runs]
    theirs = measured(study.experiments[experiment].series[series].measured, levels)[metric]
    assert theirs.runs == 1
    return sorted(each), theirs.mean


@pytest.mark.parametrize(
    ("experiment", "metric", "levels", "least", "most", "inside"),
    [
        ("fq-codel", "signal_ratio",
         {"traffic": "sixteen-and-one", "signal": "drops", "rate": 100}, 0.00262, 0.00818, True),
        ("fq-codel", "queue_packets", {"traffic": "far-and-near", "signal": "drops", "rate": 100},
         15.7, 27.3, True),
        ("fq-codel", "queue_packets", {"traffic": "far-and-near", "signal": "marks", "rate": 100},
         15.3, 25.6, True),
        ("shapers", "lost_ratio", {"traffic": "two-groups", "queue": "htb"},
         0.004836, 0.009744, True),
        ("shapers", "lost_ratio", {"traffic": "rate-plan", "queue": "tbf-burst"},
         0.006497, 0.009332, True),
        ("wire", "sent_again_percent", {"fault": "burst-loss"}, 0.8217, 1.242, True),
        ("wire", "lost_ratio", {"fault": "reorder"}, 7.2e-5, 1.067e-3, True),
    ],
)  # fmt: skip
def test_the_kernels_only_run_beside_thirty_simulated_ones(
    study, experiment, metric, levels, least, most, inside
):
    ours, kernel = beside_the_only_run(study, experiment, metric, **levels)
    assert (ours[0], ours[-1]) == pytest.approx((least, most), rel=0.01)
    assert (ours[0] < kernel < ours[-1]) is inside


@pytest.mark.parametrize(
    ("experiment", "case", "metric", "least", "most", "inside"),
    [
        ("first", "06-two-rtts", "ratio", 0.88, 1.98, True),
        ("first", "10-twenty-aqm-ecn", "mark_ratio", 0.0378, 0.0749, True),
        ("first", "14-short-transfers", "loss_ratio", 0.0069, 0.0107, True),
        ("first", "01-one-reno", "loss_ratio", 0.00036, 0.00036, False),
        ("first", "14-short-transfers", "completion_s", 4.7, 6.6, False),
        ("first", "16-four-cubic-50mbps", "loss_ratio", 0.00118, 0.00133, False),
        ("held-out", "01-loss-0.1-reno", "queue_packets", 0.693, 1.016, True),
        ("held-out", "11-red-ecn", "loss_ratio", 0.0, 0.01627, True),
        ("held-out", "11-red-ecn", "mark_ratio", 0.00587, 0.02398, True),
    ],
)
def test_the_stock_kernels_run_of_a_set_beside_thirty_simulated_ones(
    study, experiment, case, metric, least, most, inside
):
    ours, kernel = beside_the_only_run(study, experiment, metric, "stock", case=case)
    assert (ours[0], ours[-1]) == pytest.approx((least, most), rel=0.01)
    assert (ours[0] < kernel < ours[-1]) is inside


def test_a_delay_of_acks_that_adapts_brings_the_queue_within_a_tenth(study):
    """CAKE at 0.8 Mb/s: the kernel has 7.41 packets with its own queue and with ours."""
    levels = {"traffic": "far-and-near", "isolation": "triple-isolate", "rate": 0.8}
    (ours,) = (s for s in settings(study, "cake") if s.levels == levels)

    def queue(*always):
        runner = Runner(native_engine, study.measures, Threads(), always=always)
        return study.measures.of(runner.runs(ours, 5))["queue_packets"].mean

    assert queue() == pytest.approx(6.0, rel=0.01)
    assert queue(("tcp.adaptive_delayed_ack", "true")) == pytest.approx(6.84, rel=0.02)


def test_what_overtakes_by_less_than_a_quarter_of_the_round_trip_is_not_retransmitted(study):
    """A reordering window of min_rtt/4 = 7.5 ms, which grows on Linux by each D-SACK."""
    (ours,) = (s for s in settings(study, "wire") if s.levels == {"fault": "reorder"})

    def retransmitted(delay):
        runner = Runner(
            native_engine, study.measures, Threads(), always=(("bottleneck.delay", f'"{delay}"'),)
        )
        return study.measures.of(runner.runs(ours, 15))["sent_again_percent"].mean

    kernel = measured(study.experiments["wire"].series["kernel"].measured, ours.levels)
    assert retransmitted("6 ms") < kernel["sent_again_percent"].mean < 0.1
    assert retransmitted("10 ms") > 1.5


@pytest.mark.parametrize("level", ["ack-filter", "ack-filter-aggressive"])
def test_an_ack_that_a_filter_drops_counts_until_the_next_of_its_flow_leaves(
    study, level, tmp_path
):
    """At most what arrives of a flow between two ACKs that leave, for half of that time."""
    (ours,) = (s for s in settings(study, "ack-filter") if s.levels["filter"] == level)
    one = scenario(ours)
    tidegate.capture(one, table=True, out=tmp_path)
    left = pq.read_table(tmp_path / "acks.bottleneck.parquet")
    time_s, flow = left["time_ns"].to_numpy() / 1e9, left["flow"].to_numpy()
    links = one.run(1)["links"]
    arrivals = links["arrivals"][[*links["name"]].index("bottleneck")] / 4 / one.duration_s
    counted = 0.0
    for number in range(4):
        gaps = np.diff(time_s[(flow == number) & (time_s > one.warm_up_s)])
        counted += np.sum(np.maximum(arrivals * gaps - 1, 0) * gaps / 2) / one.duration_s
    found = study.measures.of(Runner(native_engine, study.measures, Threads()).runs(ours, 5))
    kernel = measured(study.experiments["ack-filter"].series["kernel"].measured, ours.levels)
    queue = found["queue_packets"].mean
    assert queue < kernel["queue_packets"].mean < queue + counted
    assert kernel["signal_ratio"].mean == pytest.approx(found["signal_ratio"].mean, rel=0.05)


def test_what_a_token_bucket_hides_is_less_than_the_packet_in_transmission(study):
    """The queue of the stock kernel lacks at most the packet in transmission."""
    cases = ("02-loss-1-cubic", "03-loss-3-reno", "04-loss-3-cubic-100ms", "14-short-lossy")
    stock = study.experiments["held-out"].series["stock"].measured
    for case in cases:
        (setting,) = (s for s in settings(study, "held-out") if s.levels["case"] == case)
        ours = study.measures.of(Runner(native_engine, study.measures, Threads()).runs(setting, 5))
        theirs = measured(stock, setting.levels)
        hidden = ours["queue_packets"].mean - theirs["queue_packets"].mean
        assert 0 < hidden < theirs["utilization"].mean


def test_no_jitter_of_the_hosts_takes_the_udp_source_out_of_step():
    """Linux lost 0.278 % of what two sources sent that come in step with the link."""
    jitters = ("off", "20 us", "50 us", "100 us", "300 us", "600 us", "1.2 ms")
    found = [lost("13-udp-tcp.toml", ("host_jitter", f'"{one}"'), runs=15) for one in jitters]
    assert 0.00285 < min(found) < max(found) < 0.0048


def test_what_icp_drops_depends_on_loss_recovery_and_not_on_bursts_or_frto():
    def dropped(*changes):
        icp = '{ kind = "icp", curve = "step", fill_rate = "550 B/s", depth = "350 kB" }'
        own = ("bottleneck.differentiation", icp)
        return lost("cpq/scenario.toml", own, *changes, runs=20)

    usual = dropped()
    assert usual == pytest.approx(0.0454, rel=0.02)
    assert dropped(("tcp.loss_recovery", '"fack"')) == pytest.approx(0.0416, rel=0.02)
    assert dropped(("tcp.segment_bursts", "false")) == pytest.approx(usual, rel=0.04)
    assert dropped(("tcp.frto", "false")) == pytest.approx(usual, rel=0.04)
