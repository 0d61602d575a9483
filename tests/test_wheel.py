"""The package as others install it: a wheel in an empty environment, used in an empty folder."""

import fcntl
import json
import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
# The first test waits for the wheel, which cargo may have to compile; one process builds it.
pytestmark = [pytest.mark.timeout(1800), pytest.mark.xdist_group("wheel")]


@pytest.fixture(scope="module")
def tidegate(tmp_path_factory):
    """Run the installed command in a folder; what it depends on is that of these tests."""
    folder = tmp_path_factory.mktemp("wheel")
    build = ["maturin", "build", "--release", "--locked", "--offline", "--quiet", "--out"]
    # Two builds at a time in one checkout take each other's library away.
    with (ROOT / "target" / ".wheel.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        run([Path(sys.executable).with_name(build[0]), *build[1:], folder], cwd=ROOT)
    (wheel,) = folder.glob("*.whl")
    place = folder / "environment"
    venv.create(place, with_pip=False)
    python = place / "bin" / "python"
    pip = [
        sys.executable,
        "-m",
        "pip",
        "--quiet",
        "--disable-pip-version-check",
        "--python",
        python,
    ]
    run([*pip, "install", "--no-deps", "--no-index", wheel])
    (site,) = place.glob("lib/*/site-packages")
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib"))

    def command(cwd, *arguments, fails=False):
        return run([place / "bin" / "tidegate", *arguments], cwd=cwd, fails=fails)

    where = run([python, "-c", "import tidegate; print(tidegate.__file__)"]).stdout
    assert Path(where.strip()).is_relative_to(site)
    return command


def run(command, *, fails=False, **options):
    ours = ("TIDEGATE", "PYTHONPATH")  # What would show the installed command the checkout.
    environment = {
        name: value for name, value in os.environ.items() if not any(word in name for word in ours)
    }
    done = subprocess.run(command, env=environment, capture_output=True, text=True, **options)
    assert (done.returncode != 0) == fails, done.stderr
    return done


def test_a_scenario_that_comes_along_is_simulated(tidegate, tmp_path):
    scenario = "scenarios/s1-dumbbell.toml"
    short = ["--set", "warm_up=0 s", "--set", "duration=1 s", "-r", "1", "--format", "json"]
    done = tidegate(tmp_path, "simulate", scenario, *short)
    folder = Path(json.loads(done.stdout)["folder"])
    assert (tmp_path / folder / "manifest.json").is_file()


def test_an_experiment_is_reproduced(tidegate, tmp_path):
    done = tidegate(tmp_path, "reproduce", "cpq/formulas", "--quick", "--format", "json")
    (summary,) = json.loads(done.stdout)
    assert summary["claims"] > 0
    assert summary["ok"]
    assert (tmp_path / "results" / "reproduce-cpq-formulas-quick" / "RESULTS.md").is_file()


def test_a_mechanism_of_the_league_is_run_in_a_situation(tidegate, tmp_path):
    done = tidegate(tmp_path, "reproduce", "league/equals", "--only", "mechanism=red", "--quick")
    assert "Jain" in done.stdout
    assert (tmp_path / "results" / "reproduce-league-equals-mechanism=red-quick").is_dir()


@pytest.mark.parametrize("command", [("reproduce", "abc"), ("reproduce", "league")])
def test_pages_of_the_source_are_not_written_into_the_package(tidegate, tmp_path, command):
    done = tidegate(tmp_path, *command, "--report", fails=True)
    assert "works in a checkout" in done.stderr
    assert not list(tmp_path.iterdir())
