import os
import sys
from pathlib import Path

import pytest
from support import turn

STAND_IN = Path(__file__).with_name("stand_in.py")


@pytest.fixture
def own_turn():
    """The names of our congestion controls, which are one for the machine."""
    with turn():
        yield


@pytest.fixture
def stand_in(tmp_path, monkeypatch):
    """The stand-in for `tidegate-lab`, which needs root, as a program of its own."""
    program = tmp_path / "stand-in-for-tidegate-lab"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{STAND_IN}" "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("TIDEGATE_LAB", str(program))
    monkeypatch.delenv("TIDEGATE_STAND_IN", raising=False)
    return program


@pytest.fixture
def lab_command(tidegate_command, stand_in):
    """The command as a user types it, with the stand-in instead of the real program."""

    def run(*arguments, how="", **environment):
        named = {"TIDEGATE_LAB": str(stand_in), "TIDEGATE_STAND_IN": how}
        return tidegate_command(*arguments, **{**named, **environment})

    run.folder = tidegate_command.folder
    run.environment = {**os.environ, "TIDEGATE_LAB": str(stand_in)}
    return run
