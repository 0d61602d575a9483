"""Where packets differ from the equilibrium there is a warning with a cause and a range."""

import csv
import json

import pytest

import tidegate
from tidegate.analysis import beside_theory, theory
from tidegate.analysis.accuracy.measured import measured
from tidegate.errors import AnalysisError

RED = {"kind": "red", "min_threshold": "20 packets", "max_threshold": "80 packets"}
RED_BY_ITSELF = {**RED, "max_probability": 0.02, "spacing": "geometric"}


def scenario(sender="reno", flows=8, rtt_ms=40, aqm="pie", tcp=None, **link):
    return {
        "version": 1,
        "profile": "classic",
        "warm_up": "20 s",
        "duration": "40 s",
        "bottleneck": {
            "rate": "10 Mb/s",
            "delay": f"{rtt_ms / 2 - 0.1:g} ms",
            "buffer": "500 packets",
            "ecn": True,
            "aqm": aqm,
            **link,
        },
        "tcp": {"ecn": True, "congestion_control": sender, **(tcp or {})},
        "users": {"all": {"flows": flows}},
    }


def kinds(of):
    return {cause.kind for cause in theory(tidegate.load_scenario(of)).causes}


def with_second_group(of, **user):
    return {**of, "users": {**of["users"], "others": {"flows": 8, **user}}}


@pytest.mark.parametrize("sender", ["reno", "cubic"])
@pytest.mark.parametrize("aqm", ["pie", RED])
def test_many_flows_on_a_calm_queue_need_no_warning(sender, aqm):
    assert not theory(tidegate.load_scenario(scenario(sender, aqm=aqm, rtt_ms=20))).warnings


PAYS = {"kind": "direct-window", "willingness_to_pay": 1}
CAUSES = {
    "many-losses": scenario(flows=20, rtt_ms=20, aqm=RED, ecn=False),
    "full-buffer": scenario(aqm={**RED, "max_threshold": "200 packets"}, buffer="34 packets"),
    "coupled-queues": with_second_group(
        scenario(aqm="drop-tail", scheduler="dualpi2"), tcp={"congestion_control": "prague"}
    ),
    "vegas-cp-on-pc3": {
        **scenario(
            {"kind": "vegas-cp", "willingness_to_pay": 8},
            aqm={"kind": "pc3", "target": "10 packets"},
        ),
        "price_encoding": "explicit",
    },
    "swings": scenario(flows=2, rtt_ms=200),
    "short-queue": scenario(flows=1, rtt_ms=60),
    "small-windows": scenario(flows=20, rtt_ms=10),
    "several-laws": with_second_group(scenario(), tcp={"congestion_control": "cubic"}),
    "round-trips": with_second_group(scenario(flows=2), flows=2, access={"delay": "80 ms"}),
    "steep-queue": scenario(aqm={"kind": "piecewise-linear", "points": [[0, 0.0], [2000, 1.0]]}),
    "drops-for-marks": scenario("dctcp", flows=20),
    "pc1": {**scenario(PAYS, aqm="pc1"), "price_encoding": "explicit"},
    "slow": {
        **scenario(PAYS, aqm={"kind": "pc2", "target": "10 packets"}),
        "price_encoding": "explicit",
    },
}


@pytest.mark.parametrize("kind", CAUSES)
def test_each_cause_is_found_and_says_by_how_much(kind):
    found = theory(tidegate.load_scenario(CAUSES[kind]))
    [cause] = [cause for cause in found.causes if cause.kind == kind]
    known = measured()[kind]
    assert str(cause) in found.warnings
    assert str(cause).endswith(str(known))
    assert f"{known.rates_percent[0]:+d} to {known.rates_percent[1]:+d} %" in str(cause)
    assert cause.key.split(".")[0] in {"bottleneck", "users"}


def customers(kind, **how):
    """A heavy user and light ones on a queue that tells them apart."""
    of = scenario(aqm=RED_BY_ITSELF, differentiation={"kind": kind, **how})
    meter = {"meter": {"reference_rate": "1 Mb/s", "inertia": "1 s"}} if kind == "abc" else {}
    users = {"heavy": {"flows": 5, **meter}, "light": {"count": 4, **meter}}
    return {**of, "users": users, "warm_up": "60 s"}


BUCKET = {"fill_rate": "1000 B/s", "depth": "30 kB"}


def test_who_is_policed_is_off_the_mean_and_nobody_else():
    """ICP with three customers, as where packets use 67 to 71 % and the model says all."""
    for kind in ("icp", "afcp"):
        assert kinds(customers(kind, **BUCKET)) == {f"policed-by-{kind}"}
        assert kinds(customers(kind, fill_rate="1 MB/s", depth="30 kB")) == set()
    assert "aicp-b" in kinds(customers("aicp-b", **BUCKET))
    assert "slow-buckets" in kinds(customers("afcp", fill_rate="300 B/s", depth="30 kB"))


def test_icp_charges_what_falls_and_afcp_by_probability():
    """RED that spaces its signals evenly signals 2p/(1 + p): a customer's r is charged by that."""
    uniform = {**RED_BY_ITSELF, "spacing": "uniform"}
    rates = {}
    for kind in ("icp", "afcp"):
        of = customers(kind, fill_rate="3000 B/s", depth="30 kB")
        of["bottleneck"]["aqm"] = uniform
        found = tidegate.analyse(of, "equilibrium")["equilibrium"]
        heavy, _ = found.tables["groups"]
        [link] = found.tables["links"]
        p = link["p"]
        cost = 2 * p / (1 + p) if kind == "icp" else p
        assert heavy["policed"]
        assert heavy["rate_bps"] == pytest.approx(3000 * 8 / cost, rel=1e-6)
        rates[kind] = heavy["rate_bps"]
    assert rates["icp"] < rates["afcp"]


def test_abc_says_what_its_inertia_and_its_windows_do():
    plain = customers("abc", gamma=2.0)
    assert kinds(plain) == {"abc-formulas"}
    hasty = customers("abc", gamma=2.0)
    for user in hasty["users"].values():
        user["meter"] = {**user["meter"], "inertia": "20 ms"}
    assert kinds(hasty) == {"abc-formulas", "abc-inertia"}
    crowded = {
        **plain,
        "users": {**plain["users"], "light": {**plain["users"]["light"], "count": 60}},
    }
    assert "small-windows" in kinds(crowded)
    groups = tidegate.analyse(crowded, "equilibrium")["equilibrium"].tables["groups"]
    assert min(row["window_packets"] for row in groups) < 2.5


def test_unstable_by_gamma_alone_is_not_a_queue_that_swings():
    """With PIE, γ = 8: the loop's margin is below 1, that of the queue without ABC far above."""
    of = customers("abc", gamma=8.0)
    of["bottleneck"]["aqm"] = "pie"
    for user in of["users"].values():
        user["meter"] = {"reference_rate": "1 Mb/s", "inertia": "100 ms"}
    found = tidegate.analyse(of, "stability")["stability"]
    assert not found.values["stable"]
    assert found.values["queue_gain_margin_without_abc"] > 1
    assert any("small swing of activities" in warning for warning in found.warnings)
    assert "swings" not in kinds(of)


def test_warnings_are_in_every_output(tidegate_command):
    of = CAUSES["several-laws"]
    found = tidegate.analyse(of, "equilibrium")["equilibrium"]
    [cause] = found.to_dict()["causes"]
    assert cause["kind"] == "several-laws"
    assert cause["scenarios"] > 0
    result = tidegate.simulate(tidegate.load_scenario(of, set={"duration": "5 s"}))
    rows = beside_theory(result).to_pylist()
    assert all("several laws" in row["warning"] for row in rows if row["predicted"])
    assert all(row["warning"] is None for row in rows if row["predicted"] is None)
    path = tidegate_command.folder / "mixed.json"
    path.write_text(json.dumps(of))
    toml = tidegate_command.folder / "mixed.toml"
    toml.write_text(tidegate.load_scenario(of, set={"duration": "5 s"}).to_toml())
    done = tidegate_command("analyse", toml, "equilibrium")
    assert "warning: users.all: senders of several laws (cubic, reno)" in done.stdout
    options = ("simulate", toml, "--theory", "--no-save", "-r", "1")
    reported = tidegate_command.json(*options)["theory"]
    assert reported["causes"][0]["kind"] == "several-laws"
    assert any("several laws" in warning for warning in reported["warnings"])
    text = tidegate_command(*options)
    assert "senders of several laws" in text.stderr + text.stdout
    table = tidegate_command(*options, "--format", "csv").stdout
    rows = list(csv.DictReader(table.splitlines()))
    assert any("several laws" in row["warning"] for row in rows)


def test_dctcp_and_prague_are_reno_where_nothing_marks():
    """RFC 8257, section 3.5; with marks W = 2/p."""
    for sender in ("dctcp", "prague"):
        for link in (
            {"aqm": RED, "ecn": False},
            {"aqm": "drop-tail", "scheduler": "dualpi2", "ecn": False},
        ):
            of = scenario(sender, **link)
            found = tidegate.analyse(of, "equilibrium")["equilibrium"]
            [row] = found.tables["groups"]
            assert "Reno" in found.mapped["group all"]
            assert row["window_packets"] ** 2 == pytest.approx(
                2 * (1 - row["p"]) / row["p"], rel=1e-6
            )
        [row] = tidegate.analyse(scenario(sender, aqm=RED), "equilibrium")["equilibrium"].tables[
            "groups"
        ]
        assert row["window_packets"] == pytest.approx(2 / row["p"], rel=1e-6)


@pytest.mark.parametrize(
    ("sender", "link", "sentence"),
    [
        ("sbrm", {"aqm": RED, "ecn": False}, r"bottleneck\.ecn: sbrm answers to marks, .* drops"),
        ("tcp-rm", {"aqm": RED, "ecn": False}, r"bottleneck\.ecn: tcp-rm answers to marks"),
        (
            "sbrm",
            {"aqm": {"kind": "pc2", "target": "9 packets"}},
            r"bottleneck\.aqm: sbrm .* writes",
        ),
        (
            "reno",
            {"aqm": {"kind": "pc2", "target": "9 packets"}},
            r"bottleneck\.aqm: reno .* writes",
        ),
    ],
)
def test_a_law_is_refused_where_the_queue_signals_otherwise(sender, link, sentence):
    of = {**scenario(sender, **link), "price_encoding": "explicit"}
    with pytest.raises(AnalysisError, match=sentence):
        tidegate.analyse(of, "equilibrium")


def test_sbrm_marks_whatever_the_links_ecn():
    """An SBRM queue marks and never drops."""
    queue = {"kind": "sbrm-queue", "gamma": 0.006, "target": "20 packets"}
    answers = [
        tidegate.analyse(scenario("sbrm", aqm=queue, ecn=ecn), "equilibrium")["equilibrium"].tables
        for ecn in (True, False)
    ]
    assert answers[0] == answers[1]


def test_prices_stand_beside_marks_and_alone_where_they_are_told():
    pc2 = {"kind": "pc2", "gamma": 0.005, "target": "20 packets"}
    pays = {"kind": "direct-window", "willingness_to_pay": 8}
    reported = {**scenario(pays, aqm=pc2), "price_encoding": "explicit"}
    marked = {**scenario(pays, aqm=pc2), "price_encoding": {"kind": "one-bit", "base": 1.5}}
    tables = [
        tidegate.analyse(of, "equilibrium")["equilibrium"].tables for of in (reported, marked)
    ]
    for found in tables:
        [link], [group] = found["links"], found["groups"]
        assert link["price"] == pytest.approx(8 * 8 / (1e7 / 12_000), rel=1e-6)  # λ x = w
        assert link["queue_packets"] == pytest.approx(20 + link["price"] / 0.005, rel=1e-6)
        assert group["path_price"] == pytest.approx(link["price"])
    assert tables[0]["links"][0]["p"] is None
    assert tables[0]["groups"][0]["p"] is None
    assert tables[1]["links"][0]["p"] == pytest.approx(1 - 1.5 ** -tables[1]["links"][0]["price"])
    assert (
        "price" not in tidegate.analyse(scenario(), "equilibrium")["equilibrium"].tables["links"][0]
    )


def test_a_predicted_backlog_has_the_packet_in_transmission():
    """Against packets at 5 Mb/s, where 15 ms are 6.25 packets that wait.

    DualPI2 sees how long the first has waited so far, half a transmission less than it will.
    """
    of = scenario(flows=5, rate="5 Mb/s", aqm="drop-tail", scheduler="dualpi2")
    rows = beside_theory(tidegate.simulate(of, replications=2)).to_pylist()
    [row] = [row for row in rows if row["metric"] == "mean_backlog_packets"]
    assert row["predicted"] == pytest.approx(6.25 + 0.5 + 1)
    assert abs(row["deviation"]) < 0.1


def test_of_dualpi2s_queues_the_classic_one_is_what_waits():
    """It is served with what the other leaves: the target times that, not times the link's rate."""
    of = with_second_group(
        scenario(aqm="drop-tail", scheduler="dualpi2"), tcp={"congestion_control": "prague"}
    )
    found = tidegate.analyse(of, "equilibrium")["equilibrium"].tables
    [link] = found["links"]
    classic = next(row for row in found["groups"] if row["group"] == "all")
    waits_s = 0.015 + 0.6e-3  # half a transmission that its controller does not see
    assert link["delay_s"] == pytest.approx(waits_s)
    assert link["queue_packets"] == pytest.approx(waits_s * classic["rate_bps"] / 12_000)
