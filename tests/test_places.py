"""Nothing is replaced by less: which result may take the place of which."""

import json

import pytest
from support import SMALL

import tidegate


@pytest.fixture(scope="module")
def results():
    return {count: tidegate.simulate(SMALL, replications=count) for count in (1, 3)}


def runs_in(folder):
    return len(json.loads((folder / "manifest.json").read_text())["runs"])


def test_fewer_of_the_same_runs_do_not_replace_more(tmp_path, results):
    results[3].save(tmp_path / "kept")
    with pytest.raises(tidegate.ResultError, match="has 3 runs, of which this has 1; it was left"):
        results[1].save(tmp_path / "kept")
    assert runs_in(tmp_path / "kept") == 3
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]


def test_more_runs_replace_fewer(tmp_path, results):
    results[1].save(tmp_path / "kept")
    results[3].save(tmp_path / "kept")
    assert runs_in(tmp_path / "kept") == 3


def test_one_variant_does_not_replace_two(tmp_path, results):
    compared = tidegate.compare(SMALL, against={"bottleneck.differentiation.kind": "none"})
    compared.save(tmp_path / "kept")
    with pytest.raises(tidegate.ResultError, match="has 6 runs"):
        results[3].save(tmp_path / "kept")
    assert list(tidegate.load(tmp_path / "kept")) == list(compared)


def test_another_scenario_replaces_a_result_where_its_folder_is_named(tmp_path, results):
    results[3].save(tmp_path / "kept")
    other = tidegate.simulate(SMALL, set={"users.heavy.flows": 1}, replications=1)
    other.save(tmp_path / "kept")
    assert tidegate.load(tmp_path / "kept").hash == other.hash


def test_figures_stay_with_the_result_that_they_show(tmp_path, results):
    results[3].plot(results[3].save(tmp_path / "kept"))
    (tmp_path / "kept/notes.txt").write_text("mine")
    (tmp_path / "kept/mine.png").write_bytes(b"mine")
    results[3].save(tmp_path / "kept")
    assert len(list((tmp_path / "kept").glob("*.png"))) == 6
    tidegate.simulate(SMALL, set={"users.heavy.flows": 1}).save(tmp_path / "kept")
    assert [path.name for path in (tmp_path / "kept").glob("*.png")] == ["mine.png"]
    assert (tmp_path / "kept/notes.txt").read_text() == "mine"


def test_a_manifest_of_another_program_makes_no_result_folder(tmp_path, results):
    (tmp_path / "site").mkdir()
    (tmp_path / "site/manifest.json").write_text('{"name": "my site"}')
    (tmp_path / "site/index.html").write_text("<html>")
    for save in (results[1].save, lambda at: tidegate.sweep(SMALL, out=at, replications=1)):
        with pytest.raises(tidegate.ResultError, match="left alone"):
            save(tmp_path / "site")
    assert {path.name for path in (tmp_path / "site").iterdir()} == {"manifest.json", "index.html"}


def test_a_result_and_a_sweep_do_not_replace_each_other(tmp_path, results):
    tidegate.sweep(SMALL, out=tmp_path / "sweep", replications=1)
    with pytest.raises(tidegate.ResultError, match="folder of a sweep; it was left alone"):
        results[3].save(tmp_path / "sweep")
    assert len(tidegate.load_sweep(tmp_path / "sweep").points) == 1
    results[1].save(tmp_path / "one")
    with pytest.raises(tidegate.ResultError, match="has a result, not a sweep"):
        tidegate.sweep(SMALL, out=tmp_path / "one", replications=1)
    assert tidegate.load(tmp_path / "one").digests == results[1].digests


def test_the_command_refuses_before_it_runs(tidegate_command):
    assert tidegate_command("simulate", "small.toml", "-r", 3, "--out", "kept").returncode == 0
    endless = ("--set", "duration=60000 s")
    for place in ("small.toml", "small.toml/below", "precious"):
        (tidegate_command.folder / "precious").mkdir(exist_ok=True)
        (tidegate_command.folder / "precious/thesis.txt").write_text("years of work")
        done = tidegate_command("simulate", "small.toml", *endless, "--out", place)
        assert (done.returncode, done.stdout) == (1, ""), done.stderr
    done = tidegate_command("simulate", "small.toml", "-r", 1, "--out", "kept")
    assert (done.returncode, done.stdout) == (1, "")
    assert "has 3 runs, of which this has 1" in done.stderr
