"""The package as others install it: a wheel in an empty environment, used in an empty folder."""

import hashlib
import json
import os
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from email import message_from_string
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
# The first test waits for the wheel, which cargo may have to compile; one process builds it.
pytestmark = [pytest.mark.timeout(1800), pytest.mark.xdist_group("wheel")]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    run([ROOT / "tools" / "wheel.sh", folder], cwd=ROOT)
    (wheel,) = folder.glob("*.whl")
    return wheel


@pytest.fixture(scope="module")
def tidegate(wheel):
    """Run the installed command in a folder; without extras, it uses the libraries of here."""
    folder = wheel.parent
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
    run([*pip, "install", "--no-deps", "--no-index", wheel], cwd=folder)
    (site,) = place.glob("lib/*/site-packages")
    for name in dependencies(wheel):
        for file in distribution(name).files or ():
            top = site / file.parts[0]
            if ".." not in file.parts and not top.exists():
                top.symlink_to(Path(sysconfig.get_path("purelib")) / file.parts[0])

    def command(cwd, *arguments, fails=False):
        return run(
            [place / "bin" / "tidegate", *arguments], cwd=cwd, fails=fails, PATH="/usr/bin:/bin"
        )

    where = run([python, "-c", "import tidegate; print(tidegate.__file__)"], cwd=folder).stdout
    assert Path(where.strip()).is_relative_to(site)
    return command


def dependencies(wheel):
    """Names of what a plain installation brings, each after who needs it."""
    with zipfile.ZipFile(wheel) as archive:
        (metadata,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        text = archive.read(metadata).decode()
    waiting = [Requirement(one) for one in message_from_string(text).get_all("Requires-Dist")]
    names = []
    for needed in waiting:
        if needed.name in names or (needed.marker and not needed.marker.evaluate({"extra": ""})):
            continue
        names.append(needed.name)
        waiting.extend(map(Requirement, distribution(needed.name).requires or ()))
    return names


def run(command, *, cwd, fails=False, **variables):
    """Run a command; `fails` is whether it has to, None if it may."""
    ours = ("TIDEGATE", "PYTHONPATH")  # What would show the installed command the checkout.
    environment = {
        name: value for name, value in os.environ.items() if not any(word in name for word in ours)
    }
    done = subprocess.run(
        command, cwd=cwd, env=environment | variables, capture_output=True, text=True
    )
    assert fails is None or (done.returncode != 0) == fails, done.stderr
    return done


def test_a_scenario_that_comes_along_is_simulated(tidegate, tmp_path):
    scenario = "evening-peak"
    short = ["--set", "warm_up=0 s", "--set", "duration=1 s", "-r", "1", "--format", "json"]
    done = tidegate(tmp_path, "simulate", scenario, *short)
    folder = Path(json.loads(done.stdout)["folder"])
    assert (tmp_path / folder / "manifest.json").is_file()


@pytest.mark.parametrize(
    ("command", "library", "extra"),
    [
        (["simulate", "evening-peak", "--plot"], "matplotlib", "figures"),
        (["choose", "evening-peak"], "scipy", "analysis"),
    ],
)
def test_what_an_extra_brings_is_named(tidegate, tmp_path, command, library, extra):
    done = tidegate(tmp_path, *command, fails=True)
    assert done.stderr.splitlines()[-1] == (
        f"tidegate: {library} is not installed: pip install 'tidegate[{extra}]'"
    )
    assert not list(tmp_path.iterdir()), "before any work"


def test_results_are_compared_without_a_figure(tidegate, tmp_path):
    short = ["--set", "warm_up=0 s", "--set", "duration=1 s", "-r", "2", "--format", "json"]
    for variant in ("a", "b"):
        tidegate(tmp_path, "simulate", "evening-peak", *short, "--out", variant)
    done = tidegate(tmp_path, "compare", "a", "b")
    assert "no figure: matplotlib is not installed" in done.stderr
    assert "95 % confidence" in done.stdout


def test_an_experiment_is_reproduced(tidegate, tmp_path):
    done = tidegate(tmp_path, "reproduce", "abc/table2", "--quick", "--format", "json")
    (summary,) = json.loads(done.stdout)
    assert summary["claims"] > 0
    assert summary["ok"]
    assert (tmp_path / "results" / "reproduce-abc-table2-quick" / "RESULTS.md").is_file()


def test_a_mechanism_of_the_league_is_run_in_a_situation(tidegate, tmp_path):
    done = tidegate(tmp_path, "reproduce", "league/equals", "--only", "mechanism=red", "--quick")
    assert "Jain" in done.stdout
    assert (tmp_path / "results" / "reproduce-league-equals-mechanism=red-quick").is_dir()


@pytest.mark.parametrize("command", [("reproduce", "abc"), ("reproduce", "league")])
def test_pages_of_the_source_are_not_written_into_the_package(tidegate, tmp_path, command):
    done = tidegate(tmp_path, *command, "--report", fails=True)
    assert "works in a checkout" in done.stderr
    assert not list(tmp_path.iterdir())


LAB = "tidegate/data/programs/tidegate-lab"


def test_the_lab_comes_along(tidegate, wheel, tmp_path):
    if not Path(sys.executable).with_name("tidegate-lab").exists():
        pytest.skip("the lab is for Linux")
    done = tidegate(tmp_path, "lab", "--check", fails=None)
    assert "the program tidegate-lab" not in done.stdout + done.stderr
    with zipfile.ZipFile(wheel) as archive:
        assert archive.getinfo(LAB).external_attr >> 16 & 0o111
        program = tmp_path / "tidegate-lab"
        program.write_bytes(archive.read(LAB))
    libraries = subprocess.run(["ldd", program], capture_output=True, text=True)
    assert "statically linked" in libraries.stdout + libraries.stderr


def test_the_page_comes_along_where_it_is_built(tidegate, wheel, tmp_path):
    with zipfile.ZipFile(wheel) as archive:
        built = "tidegate/data/page/tidegate.html" in archive.namelist()
    done = tidegate(tmp_path, "explore", "evening-peak", "--no-open", fails=not built)
    assert built or "the page is not there" in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [("doctor",), ("explore", "--no-open"), ("lab", "evening-peak", "--kernel", "auto")],
)
def test_no_advice_is_for_a_checkout(tidegate, tmp_path, arguments):
    done = tidegate(tmp_path, *arguments, fails=None)
    assert "`make" not in done.stdout + done.stderr


def test_the_source_distribution_has_what_the_wheel_has(wheel, tmp_path):
    maturin = Path(sys.executable).with_name("maturin")
    run([maturin, "sdist", "--out", tmp_path], cwd=ROOT)
    (source,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(source) as archive:
        archive.extractall(tmp_path, filter="data")
    (unpacked,) = (path for path in tmp_path.iterdir() if path.is_dir())
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if name.startswith("tidegate/")]
        built = [name for name in names if name.endswith(".so") or "/programs/" in name]
        for name in set(names).difference(built):
            want = hashlib.sha256(archive.read(name)).hexdigest()
            found = unpacked / "python" / name
            assert hashlib.sha256(found.read_bytes()).hexdigest() == want, name
    # Cargo finds all crates there, with the versions that are locked here.
    metadata = ["cargo", "metadata", "--offline", "--format-version", "1"]
    found = json.loads(run(metadata, cwd=unpacked / "crates" / "python").stdout)
    ours = json.loads(run([*metadata, "--locked"], cwd=ROOT).stdout)
    versions = {(package["name"], package["version"]) for package in found["packages"]}
    assert versions <= {(package["name"], package["version"]) for package in ours["packages"]}
    for crate in ("simulator", "mechanisms", "scenario", "python"):
        here = {
            path.relative_to(ROOT): path.read_bytes()
            for path in (ROOT / "crates" / crate / "src").rglob("*.rs")
        }
        assert here
        assert here == {name: (unpacked / name).read_bytes() for name in here}
