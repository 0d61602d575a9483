"""The installed engine is fully optimised, that of the Rust tests hardly: both do the same."""

import tomllib

import pytest
from support import ROOT

import tidegate

LIST = ROOT / "crates/simulator/tests/data/digests.txt"
ENTRIES = [line.split(maxsplit=1) for line in LIST.read_text(encoding="utf-8").splitlines()]
# Three begin later than the three seconds that the list is about, and one has intervals.
LATE = {"scenarios/ledbat.toml", "scenarios/video.toml", "scenarios/conex-own-marks.toml"}
OTHERS = LATE | {"scenarios/cpq-aggressiveness.toml"}
FILES = {
    name: digest for digest, name in ENTRIES if name.startswith("scenarios/") and name not in OTHERS
}


def test_most_scenarios_are_compared():
    assert len(FILES) >= 50


@pytest.mark.parametrize("name", FILES)
def test_the_optimised_engine_does_what_the_checked_one_does(name):
    scenario = tomllib.loads((ROOT / name).read_text(encoding="utf-8"))
    warm_up = "0 s" if scenario["warm_up"] == "0 s" else "1 s"
    beginning = {"warm_up": warm_up, "duration": "2 s"}
    result = tidegate.simulate(ROOT / name, set=beginning, replications=1)
    assert [digest for _, digest in result.digests] == [FILES[name]]
