"""`tidegate.lab` with a stand-in for the program that needs root."""

import pytest
from support import SMALL

import tidegate
from tidegate.laboratory import process


def test_columns_come_back_as_the_engine_gave_them(stand_in):
    # The stand-in simulates, so nothing but its nulls may differ from a simulation.
    lab = tidegate.lab(SMALL, replications=2)
    simulated = tidegate.simulate(SMALL, replications=2)
    assert lab.kind == "lab"
    for name, table in simulated.tables.items():
        assert lab.tables[name].schema == table.schema, name
        for column in table.column_names:
            if lab.tables[name][column].null_count == 0:
                assert lab.tables[name][column].to_pylist() == table[column].to_pylist(), column


def test_parts_of_a_measurement_come_back_as_well(stand_in):
    parts = SMALL.replace('duration = "2 s"', 'intervals = { count = 2, length = "1 s" }')
    lab = tidegate.lab(parts, replications=2)
    simulated = tidegate.simulate(parts, replications=2)
    assert lab.interval_groups.schema == simulated.interval_groups.schema
    assert lab.interval_groups.equals(simulated.interval_groups)
    assert lab.interval_links.schema == simulated.interval_links.schema
    assert lab.interval_links.equals(simulated.interval_links)


def test_no_more_than_five_runs_unless_asked(stand_in):
    scenario = tidegate.load_scenario(SMALL, set={"replications": 50, "duration": "0.5 s"})
    assert tidegate.lab(scenario).replications == 5
    assert tidegate.lab(scenario, replications=6, jobs=3).run["seed"].to_pylist() == [*range(5, 11)]


def test_progress_is_in_seconds_of_all_runs(stand_in):
    reported = []
    tidegate.lab(SMALL, replications=2, progress=lambda done, total: reported.append((done, total)))
    assert reported[0] == (0, 6)
    assert reported[-1] == (6, 6)


def test_a_saved_lab_is_read_as_it_was(stand_in, tmp_path, monkeypatch):
    monkeypatch.setenv("TIDEGATE_STAND_IN", "late=5")
    lab = tidegate.lab(SMALL, replications=2)
    kept = tidegate.load(lab.save(tmp_path / "kept"))
    assert kept.kind == "lab"
    assert kept.lab.equals(lab.lab)
    assert kept.invalid == [(5, "forwarder late for 12 % of the packets")]
    assert kept.averaged.run["seed"].to_pylist() == [6]
    assert kept.summary().equals(lab.summary())


def test_a_folder_from_before_there_was_a_lab_is_a_simulation(tmp_path):
    folder = tidegate.simulate(SMALL, replications=1).save(tmp_path / "old")
    assert not (folder / "lab.parquet").exists()
    assert tidegate.load(folder).kind == "simulation"
    assert tidegate.load(folder).lab is None


def test_what_is_missing_is_an_error_with_a_list(stand_in, monkeypatch):
    monkeypatch.setenv("TIDEGATE_STAND_IN", "missing")
    with pytest.raises(tidegate.MissingError) as caught:
        tidegate.lab(SMALL)
    assert caught.value.missing == ["root: run it with sudo"]
    assert caught.value.exit_code == 77


def test_elsewhere_than_on_linux_that_is_all_that_is_missing(monkeypatch):
    monkeypatch.setattr(process.sys, "platform", "darwin")
    (line,) = process.missing()
    assert "Linux" in line
