"""The league's data files: what they mean, and what is refused."""

import tomllib

import pytest
from support import ROOT

from tidegate.errors import ScenarioError, UsageError
from tidegate.studies.book import Book
from tidegate.studies.league.field import (
    chosen,
    in_packets,
    played,
    plays,
    read_mechanisms,
    read_situations,
    settings,
)
from tidegate.studies.league.standings import match_of

SCENARIO = """\
version = 1
warm_up = "1 s"
duration = "2 s"

[bottleneck]
rate = "10 Mb/s"

[users.heavy]
flows = 2

[users.light]
tcp = { ecn = true }
"""
SITUATIONS = '[small]\ntitle = "small"\nratio = ["heavy", "light"]\n'
MECHANISMS = """\
[red]
title = "RED"
why = "as it is"
bottleneck.aqm = { kind = "red", min_threshold = "12 ms in packets", max_threshold = "30 packets" }

[abc]
title = "ABC"
why = "on RED"
like = "red"
bottleneck.differentiation = { kind = "abc" }
users.meter = { reference_rate = "0.05 Mb/s" }
users.tcp = { congestion_control = "reno" }
"""


@pytest.fixture
def league(tmp_path):
    (tmp_path / "situations").mkdir()
    (tmp_path / "situations/small.toml").write_text(SCENARIO)
    (tmp_path / "situations.toml").write_text(SITUATIONS)
    (tmp_path / "mechanisms.toml").write_text(MECHANISMS)
    return tmp_path


def test_a_delay_is_so_many_packets_of_the_link():
    # 20.4 ms at 10 Mb/s are 17 packets of 1500 B: the ABC paper's function.
    assert in_packets("20.4 ms in packets", 10_000_000, 1500) == "17 packets"
    assert in_packets([["20.4 ms in packets", 0.01]], 200_000_000, 1500) == [[340, 0.01]]
    assert in_packets("0.01 ms in packets", 10_000_000, 1500) == "1 packets"
    assert in_packets("20 ms", 10_000_000, 1500) == "20 ms"


def test_a_mechanism_sets_the_bottleneck_and_all_users(league):
    situation = read_situations(league)["small"]
    given = settings(situation, read_mechanisms(league)["abc"])
    assert given["bottleneck.aqm"]["max_threshold"] == "30 packets"
    assert given["bottleneck.differentiation"] == {"kind": "abc"}
    assert given["users.heavy.meter"] == given["users.light.meter"]
    scenario = played(situation, read_mechanisms(league)["abc"]).to_toml()
    light = tomllib.loads(scenario)["users"]["light"]["tcp"]
    # What the situation says of its users' TCP stays.
    assert light["ecn"] is True
    assert light["congestion_control"] == "reno"


PAYING = """\
[sbrm]
title = "SBRM"
why = "as it is"
bottleneck.aqm = { kind = "sbrm-queue", gamma = 0.02, target = "5 packets" }
pays = { congestion_control = { kind = "sbrm", kappa = 0.1 }, ecn_fallback = false }
"""


def test_those_who_pay_get_their_senders_and_what_they_offer_from_the_situation(league):
    (league / "mechanisms.toml").write_text(MECHANISMS + PAYING)
    offers = SITUATIONS + "offers = { heavy = 20 }\n"
    mechanisms = read_mechanisms(league)
    assert not plays(read_situations(league)["small"], mechanisms["sbrm"])
    (league / "situations.toml").write_text(offers)
    situation = read_situations(league)["small"]
    assert plays(situation, mechanisms["sbrm"])
    assert plays(situation, mechanisms["abc"])
    users = tomllib.loads(played(situation, mechanisms["sbrm"]).to_toml())["users"]
    control = {"kind": "sbrm", "kappa": 0.1, "willingness_to_pay": 20.0}
    assert users["heavy"]["tcp"]["congestion_control"].items() >= control.items()
    assert users["heavy"]["tcp"]["ecn_fallback"] is False
    # Who offers nothing goes by what he has, and counts as one of those who do: two flows of 20.
    assert users["light"]["tcp"] == {"ecn": True}
    assert situation.weight("heavy") == situation.weight("light") == 40.0


DECLARING = """\
[conex]
title = "ConEx"
why = "as it is"
users.ingress = [{ kind = "conex-policer", fill_rate = "4 packets/s", depth = "45 packets" }]
declares = { conex = "per-signal", ecn = true, feedback = "accurate" }
"""


def test_all_who_have_tcp_declare_and_those_alone_who_offer_where_some_do(league):
    (league / "mechanisms.toml").write_text(MECHANISMS + DECLARING)
    (league / "situations/small.toml").write_text(
        SCENARIO.replace("tcp = { ecn = true }", "")
        + '[users.flood]\ntraffic = { kind = "cbr", rate = "9 Mb/s" }\n'
    )
    conex = read_mechanisms(league)["conex"]
    given = settings(read_situations(league)["small"], conex)
    declaring = {f"users.{group}.tcp.conex" for group in ("heavy", "light")}
    assert {key for key in given if key.endswith("conex")} == declaring
    assert all(f"users.{group}.ingress" in given for group in ("heavy", "light", "flood"))
    played(read_situations(league)["small"], conex).check_simulator()
    (league / "situations.toml").write_text(SITUATIONS + "offers = { light = 20 }\n")
    given = settings(read_situations(league)["small"], conex)
    assert {key for key in given if key.endswith("conex")} == {"users.light.tcp.conex"}


def test_ecn_stays_with_whom_the_situation_gives_it_where_senders_declare(league):
    (league / "mechanisms.toml").write_text(MECHANISMS + DECLARING)
    given = settings(read_situations(league)["small"], read_mechanisms(league)["conex"])
    assert given["users.light.tcp.ecn"] is True
    assert "users.heavy.tcp.ecn" not in given
    assert given["users.heavy.tcp.conex"] == "per-signal"


def test_who_declares_has_no_part_in_the_lab(league):
    (league / "mechanisms.toml").write_text(MECHANISMS + DECLARING)
    (league / "situations.toml").write_text(SITUATIONS + "lab = true\n")
    situation, mechanisms = read_situations(league)["small"], read_mechanisms(league)
    assert plays(situation, mechanisms["red"])
    assert not plays(situation, mechanisms["conex"])


def test_who_pays_changes_no_hash_of_situations_where_nobody_does(league):
    before = match_of(read_situations(league)["small"], read_mechanisms(league)["red"])
    (league / "situations.toml").write_text(SITUATIONS + "offers = { heavy = 20 }\n")
    assert match_of(read_situations(league)["small"], read_mechanisms(league)["red"]) != before
    kept = Book(ROOT / "studies/league" / "results").read("many-flows")
    every, mechanisms = (
        read_situations(ROOT / "studies/league"),
        read_mechanisms(ROOT / "studies/league"),
    )
    stale = [name for name, entry in kept.items()
             if entry.scenario != match_of(every["many-flows"], mechanisms[name])]  # fmt: skip
    assert not stale


def test_every_mechanism_of_the_league_can_play_every_situation():
    folder = ROOT / "studies/league"
    situations, mechanisms = read_situations(folder), read_mechanisms(folder)
    files = {path.stem for path in (folder / "situations").glob("*.toml")}
    assert files == set(situations)
    for situation in situations.values():
        for mechanism in mechanisms.values():
            for quick in (False, True):
                scenario = played(situation, mechanism, quick=quick)
                if not situation.lab:
                    scenario.check_simulator()


def test_pages_that_mechanisms_name_exist():
    for mechanism in read_mechanisms(ROOT / "studies/league").values():
        if mechanism.page:
            assert (ROOT / f"docs/mechanisms/{mechanism.page}.md").is_file(), mechanism.name


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        ("mechanisms.toml", '[a]\ntitle = "A"\n', r"\[a\] has no why"),
        ("mechanisms.toml", '[a]\ntitle = "A"\nwhy = ""\nlink = 1\n', "has 'link'; keys are"),
        ("mechanisms.toml", '[a]\ntitle = "A"\nwhy = ""\nlike = "b"\n', "'b', which is not above"),
        ("mechanisms.toml", "[a\n", "cannot be read"),
        ("mechanisms.toml", "a = 1\n", "tables only"),
        ("situations.toml", '[small]\ntitle = ""\nratio = ["heavy", "hevy"]\n', "'hevy', no group"),
        ("situations.toml", '[small]\ntitle = ""\nratio = ["heavy"]\n', "two groups"),
        ("situations.toml", '[absent]\ntitle = ""\nratio = ["a", "b"]\n', "cannot be read"),
    ],
)
def test_a_error_in_a_data_file_names_the_file_and_the_table(league, file, text, said):
    (league / file).write_text(text)
    read = read_situations if file == "situations.toml" else read_mechanisms
    with pytest.raises(UsageError, match=said) as refused:
        read(league)
    assert str(league) in str(refused.value)


def test_a_setting_that_scenarios_do_not_have_is_refused_by_the_scenario(league):
    (league / "mechanisms.toml").write_text('[a]\ntitle = "A"\nwhy = ""\nbottleneck.aqn = 1\n')
    with pytest.raises(ScenarioError, match="aqn"):
        played(read_situations(league)["small"], read_mechanisms(league)["a"])


def test_an_unknown_name_comes_with_the_nearest():
    assert chosen("mechanism", {"red": 1, "pie": 2}, ["pie"]) == [2]
    assert chosen("mechanism", {"red": 1, "pie": 2}, []) == [1, 2]
    with pytest.raises(UsageError, match="did you mean 'pie'"):
        chosen("mechanism", {"red": 1, "pie": 2}, ["pi"])


def test_names_keep_their_capitals_in_headings():
    headings = {one.name: one.heading for one in read_situations(ROOT / "studies/league").values()}
    assert headings["many-flows"] == "Many flows against one"
    assert headings["cubic-and-bbr"] == "BBR against CUBIC (Linux)"
    assert headings["udp-flood"] == "UDP flood"
