"""What the comments of scenario files expect comes out when they are run.

Under its "Expect" a file has lines of the form

    #? [KEY=VALUE; ... ->] NAME[/NAME] METRIC LOW..HIGH [UNIT]

such as ``#? bottleneck.aqm.kind=drop-tail -> heavy/light throughput_bps 9..11``, where the key may
also be ``variant``: with these settings the mean of a metric of the summary, of one group or
bottleneck, or the ratio of two, is in the interval. The interval is what the sentence above says,
rounded as it rounds, not what a run gave.
"""

import re
from typing import NamedTuple

import pytest
from support import ROOT

import tidegate
from tidegate.runs.simulation import simulate_all
from tidegate.scenarios.reading import Reader, text_of

UNITS = {"": 1.0, "Mb/s": 1e6, "ms": 1e-3, "s": 1.0, "packets": 1.0, "%": 0.01}
LINE = re.compile(
    r"#\? (?:(?P<settings>.*) -> )?(?P<names>\S+) (?P<metric>\w+) "
    r"(?P<low>[\d.]+)\.\.(?P<high>[\d.]+) ?(?P<unit>\S*)"
)

# Two runs are enough for intervals this wide, and a test that takes a minute is not run.
REPLICATIONS = 5

# Its comment says why nothing can be read from it.
WITHOUT = {"s3-parking-lot"}

FILES = sorted([*(ROOT / "scenarios").glob("*.toml"), *(ROOT / "sweeps").glob("*.toml")])


class Expectation(NamedTuple):
    line: str
    settings: tuple[tuple[str, str], ...]
    names: tuple[str, ...]
    metric: str
    low: float
    high: float

    @classmethod
    def read(cls, line):
        found = LINE.fullmatch(line)
        assert found, f"not of the form that this test says: {line}"
        pairs = [pair.partition("=") for pair in (found["settings"] or "").split("; ") if pair]
        unit = UNITS[found["unit"]]
        return cls(
            line, tuple((key, value) for key, _, value in pairs),
            tuple(found["names"].split("/")), found["metric"],
            float(found["low"]) * unit, float(found["high"]) * unit,
        )  # fmt: skip


def expectations(path):
    lines = path.read_text().splitlines()
    return [Expectation.read(line) for line in lines if line.startswith("#?")]


def measured(path, settings):
    variant = [value for key, value in settings if key == "variant"]
    changes = [one for one in settings if one[0] != "variant"]
    scenario = Reader(*text_of(path)).variant(changes, *variant or [None])
    runs = min(scenario.replications, REPLICATIONS)
    summary = simulate_all({"": scenario}, replications=runs)[""].summary().to_pylist()
    return {(row["name"], row["metric"]): row["mean"] for row in summary}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_what_the_comment_expects_comes_out(path):
    expected = expectations(path)
    assert expected or path.stem in WITHOUT, "nothing of what it expects can be checked"
    runs = {settings: measured(path, settings) for settings in {one.settings for one in expected}}
    missed = []
    for one in expected:
        means = [runs[one.settings][name, one.metric] for name in one.names]
        value = means[0] if len(means) == 1 else means[0] / means[1]
        if not one.low <= value <= one.high:
            missed.append(f"{one.line}: {value:.4g}")
    assert not missed, "\n".join(missed)


def test_an_expectation_that_does_not_hold_is_seen(tmp_path):
    path = tmp_path / "half.toml"
    text = (ROOT / "tests/support.py").read_text().partition('SMALL = """\\\n')[2]
    path.write_text("#? heavy throughput_bps 90..99 Mb/s\n" + text.partition('"""')[0])
    with pytest.raises(AssertionError, match="heavy throughput_bps"):
        test_what_the_comment_expects_comes_out(path)
    assert tidegate.load_scenario(path).groups == ["heavy", "light"]
