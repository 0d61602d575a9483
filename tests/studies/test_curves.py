"""Curves over time: of the first run of a point, thinned, kept beside the report, drawn."""

import dataclasses

import pytest

from tidegate.studies.errors import ReproductionError
from tidegate.studies.metrics import read_measures
from tidegate.studies.store import RunStore

HEAD = {
    "curves": {
        "queue": {
            "table": "link_series", "column": "backlog_packets / 2", "where": {"link": "first"},
        },
        "nothing": {"table": "link_series", "column": "marks", "where": {"link": "third"}},
    }
}  # fmt: skip


@dataclasses.dataclass
class Simulation:
    seed: int = 7
    warm_up_s: float = 0.0
    duration_s: float = 10.0
    groups: list = dataclasses.field(default_factory=list)


def tables(seed, samples=3):
    times = [float(time) for time in range(samples) for _ in range(2)]
    return {
        "run": {"seed": [seed]},
        "link_series": {
            "time_s": times,
            "link": ["first", "second"] * samples,
            "backlog_packets": [2 * time for time in times],
            "marks": [0] * len(times),
        },
    }


def test_a_curve_is_of_the_first_run_alone():
    measures = read_measures(HEAD)
    first = measures.keep(Simulation(), tables(7))
    assert first.curves == {"queue": ((0.0, 1.0, 2.0), (0.0, 1.0, 2.0))}
    assert measures.keep(Simulation(), tables(8)).curves == {}


def test_of_many_samples_some_are_drawn():
    times, values = read_measures(HEAD).keep(Simulation(), tables(7, 5000)).curves["queue"]
    assert times == values
    assert len(times) == 1000


def test_what_is_kept_of_a_run_has_its_curves(tmp_path):
    measures = read_measures(HEAD)
    run = measures.keep(Simulation(), tables(7))
    RunStore(tmp_path, measures).add("scenario", 7, run)
    assert RunStore(tmp_path, measures).of("scenario") == {7: run}


def test_what_curves_get_wrong_is_told():
    with pytest.raises(ReproductionError, match=r"curves\.a: no column 'baclog'"):
        read_measures({"curves": {"a": {"table": "link_series", "column": "baclog"}}})
