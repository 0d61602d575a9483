"""Files that a scenario or a command names: regular ones, within bounds, and never waited for."""

from __future__ import annotations

import os
import socket
import subprocess
from pathlib import Path

import pytest
from support import COMMAND, PATIENCE_S

import tidegate
from tidegate.files import UnreadableError, read_text
from tidegate.scenarios.data_files import MAX_BYTES

SCENARIO = """
version = 1
[bottleneck]
rate = "10 Mb/s"
[users.a]
traffic = { kind = "frames", rate = "1 Mb/s", frames = "film.csv" }
"""
SECRET = "root:$6$salt$verysecret:19000:0:99999:7:::"


def made(path: Path, kind: str) -> Path:
    """Something of this kind under this name; a socket is closed, and its name stays."""
    match kind:
        case "pipe":
            os.mkfifo(path)
        case "folder":
            path.mkdir()
        case "socket":
            with socket.socket(socket.AF_UNIX) as own:
                own.bind(str(path))
        case _:
            path.symlink_to(kind)
    return path


KINDS = ["pipe", "folder", "socket", "/dev/zero", "/dev/urandom", "/dev/full", "/nowhere"]


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_no_file_is_refused_and_not_waited_for(tmp_path: Path, kind: str) -> None:
    made(tmp_path / "film.csv", kind)
    path = tmp_path / "scenario.toml"
    path.write_text(SCENARIO, encoding="utf-8")
    done = subprocess.run(
        [COMMAND, "validate", path], capture_output=True, text=True, check=False, timeout=PATIENCE_S
    )
    assert done.returncode == 3
    assert "users.a.traffic.frames: cannot read film.csv" in done.stderr
    assert "Traceback" not in done.stderr
    with pytest.raises(tidegate.ScenarioError, match="cannot read"):
        tidegate.load_scenario(made(tmp_path / "other.toml", kind))


@pytest.mark.parametrize("kind", ["/proc/kmsg", "/proc/self/mem", "/proc/self/status"])
def test_what_the_kernel_makes_up_is_not_read(tmp_path: Path, kind: str) -> None:
    made(tmp_path / "film.csv", kind)
    (tmp_path / "scenario.toml").write_text(SCENARIO, encoding="utf-8")
    with pytest.raises(tidegate.ScenarioError, match=r"traffic\.frames: film\.csv: has no rows"):
        tidegate.load_scenario(tmp_path / "scenario.toml")
    with pytest.raises(tidegate.ScenarioError, match="version: missing"):
        tidegate.load_scenario(made(tmp_path / "other.toml", kind))


def test_no_more_is_read_than_a_data_file_may_have(tmp_path: Path) -> None:
    film = tmp_path / "film.csv"
    path = tmp_path / "scenario.toml"
    path.write_text(SCENARIO, encoding="utf-8")
    film.write_text("1000\n" * (MAX_BYTES // 5), encoding="utf-8")
    scenario = tidegate.load_scenario(path)
    # What is kept can be read again.
    assert tidegate.load_scenario(scenario.to_toml()).to_toml() == scenario.to_toml()
    with film.open("ab") as file:
        file.truncate(1 << 40)  # a hole, which takes no room
    with pytest.raises(tidegate.ScenarioError, match=f"more than {MAX_BYTES} bytes"):
        tidegate.load_scenario(path)
    path.write_text("#" * 4_300_000, encoding="utf-8")
    with pytest.raises(tidegate.ScenarioError, match="more than 4194304 bytes"):
        tidegate.load_scenario(path)


def test_what_a_film_has_in_place_of_sizes_is_not_quoted(tmp_path: Path) -> None:
    path = tmp_path / "scenario.toml"
    path.write_text(SCENARIO, encoding="utf-8")
    for content in (SECRET, f"1000\n{SECRET}", "1000,secret", "-4711", "99999999", "4711.5"):
        (tmp_path / "film.csv").write_text(content, encoding="utf-8")
        with pytest.raises(tidegate.ScenarioError) as reported:
            tidegate.load_scenario(path)
        shown = str(reported.value) + "".join(issue.message for issue in reported.value.issues)
        assert "secret" not in shown
        assert "4711" not in shown
        assert "99999999" not in shown
        line = content.count("\n") + 1
        assert f"line {line}, column" in shown


def test_a_film_may_be_named_anywhere_an_override_puts_it(tmp_path: Path) -> None:
    (tmp_path / "own.csv").write_text("2000\n", encoding="utf-8")
    traffic = {"kind": "frames", "frames": str(tmp_path / "own.csv")}
    text = SCENARIO.replace('frames = "film.csv"', "").replace('Mb/s",  }', 'Mb/s" }')
    scenario = tidegate.load_scenario(text.replace(", }", " }"), set={"users.a.traffic": traffic})
    assert '"2000\\n"' in scenario.to_toml()


def test_the_reason_is_in_words(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UnreadableError, match="it is a pipe, not a file"):
        read_text(tmp_path / "pipe", 10)
    with pytest.raises(UnreadableError, match="it is a device, not a file"):
        read_text(Path("/dev/null"), 10)
    with pytest.raises(UnreadableError, match="null"):
        read_text(Path("a\0b"), 10)
    with pytest.raises(FileNotFoundError):
        read_text(tmp_path / "none", 10)
    with pytest.raises(UnreadableError, match="too long"):
        read_text(tmp_path / ("a" * 300), 10)
