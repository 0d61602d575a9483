"""`tidegate doctor`."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import typer

from tidegate.cli.common import command

PACKAGES = ("numpy", "pyarrow", "scipy", "matplotlib", "typer", "rich")


@command
def doctor() -> None:
    """Say what tidegate runs on and check that it works.

    **Example**

    tidegate doctor
    """
    good = True
    for name, state, ok in _findings():
        good &= ok
        typer.echo(f"{'ok ' if ok else 'BAD'}  {name:<12} {state}")
    if not good:
        raise typer.Exit(1)


def _findings() -> list[tuple[str, str, bool]]:
    from tidegate import _native
    from tidegate.execution import local_cores
    from tidegate.scenario import build_id

    installed = _version("tidegate")
    return [
        ("tidegate", f"{installed}, engine {_native.version()}, build {build_id()}",
         installed == _native.version()),
        ("python", f"{platform.python_version()} at {sys.executable}", sys.version_info >= (3, 11)),
        ("machine", f"{platform.system()} {platform.machine()}, {local_cores()} cores", True),
        *[(name, _version(name) or "missing", bool(_version(name))) for name in PACKAGES],
        _engine_works(),
        ("results", f"{Path('results').resolve()}", os.access(".", os.W_OK)),
        ("ns-2", shutil.which("ns") or "not installed (only `make bench` would use it)", True),
        *_lab(),
    ]  # fmt: skip


def _lab() -> list[tuple[str, str, bool]]:
    """What `tidegate lab` uses; nothing else of tidegate needs any of it."""
    from tidegate.lab_process import PROGRAM, find, find_program, missing

    lacking = missing()
    program = find()
    tools = {
        "tidegate-bpf": "congestion control in BPF; `make setup` builds it where clang is",
        "clang": "builds congestion control in BPF",
        "iperf3": "for `tidegate lab --generator iperf3`",
        "tshark": "shows the packets of a lab",
    }
    return [
        ("lab", "can run" if not lacking else "cannot run; missing: " + "; ".join(lacking), True),
        ("root", "yes" if os.geteuid() == 0 else "no (only `tidegate lab` needs it)", True),
        ("TUN", "yes" if Path("/dev/net/tun").exists() else "no /dev/net/tun", True),
        (PROGRAM, program or "not built", True),
        *[(name, find_program(name) or f"missing ({use})", True) for name, use in tools.items()],
    ]


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def _engine_works() -> tuple[str, str, bool]:
    """Run the smallest scenario twice and compare."""
    from tidegate.errors import TidegateError
    from tidegate.simulation import simulate

    scenario = {
        "version": 1, "warm_up": "0 s", "duration": "1 s",
        "bottleneck": {"rate": "10 Mb/s", "delay": "5 ms"}, "users": {"one": {}},
    }  # fmt: skip
    try:
        first, second = (simulate(scenario, replications=1).digests for _ in range(2))
    except TidegateError as error:
        return "engine", str(error), False
    return "engine", f"runs; digest {first[0][1]}", first == second
