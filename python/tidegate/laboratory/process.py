"""The program `tidegate-lab`: find it, ask it what is missing, run it once, read what it says.

It takes a resolved scenario on standard input and gives one JSON document on standard output. All
that it makes in the kernel hangs on its process, so that nothing is left when it is killed.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from tidegate.data import PROGRAMS, remedy
from tidegate.errors import LabError, MissingError, ScenarioError
from tidegate.escapes import one_line
from tidegate.laboratory import guest
from tidegate.results.columns import ENGINE, LAB
from tidegate.results.tables import table

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tidegate._native import Scenario
    from tidegate.results.columns import Column

PROGRAM = "tidegate-lab"
REFUSED, MISSING = 3, 77
GRACE_S = 2.0
"""How long a run may take to end when asked to."""
FAVOURED = -15
"""Niceness of a run."""


@dataclass(frozen=True)
class Measured:
    """What one run yields."""

    seed: int
    columns: dict[str, dict[str, object]]
    """Columns of every table, as the engine gives them."""
    about: dict[str, object]
    """How well the machine kept up, and on which kernel: a row of the table ``lab``."""


def find() -> str | None:
    """Path of the program: $TIDEGATE_LAB, beside Python, in the package, or on the PATH."""
    return find_program(PROGRAM)


def find_program(name: str) -> str | None:
    """Path of a program, tidegate's or not; the environment's TIDEGATE_LAB and such win."""
    named = os.environ.get(name.upper().replace("-", "_"))
    if named:
        return named if os.access(named, os.X_OK) else None
    for place in (Path(sys.executable).with_name(name), PROGRAMS / name):
        if os.access(place, os.X_OK):
            return str(place)
    return shutil.which(name)


def missing(*, generator: str = "own", kernel: guest.Kernel | None = None) -> list[str]:
    """What keeps the lab from running here, a line each with its remedy; empty where nothing.

    In a guest with a kernel it needs neither root nor what this machine's kernel has.
    """
    if sys.platform != "linux":
        return [f"Linux: this is {sys.platform}; run it in a virtual machine with Linux"]
    lacking = []
    program = find()
    if program is None:
        named = os.environ.get("TIDEGATE_LAB")
        where = f"; TIDEGATE_LAB names {named}, which cannot be run" if named else ""
        lacking.append(f"the program {PROGRAM}{where}: {remedy('setup')}")
        if kernel is None:
            lacking += [] if os.geteuid() == 0 else ["root: run the command with sudo"]
            lacking += [] if Path("/dev/net/tun").exists() else ["/dev/net/tun: `modprobe tun`"]
    elif kernel is None:
        lacking += [str(line) for line in state(program).get("missing", [])]
    if generator == "iperf3" and shutil.which("iperf3") is None:
        lacking.append("iperf3: install it (on Debian: apt-get install iperf3)")
    return lacking + ([] if kernel is None else guest.missing())


def state(program: str) -> dict[str, Any]:
    """What the program finds on this machine: `tidegate-lab check`."""
    try:
        done = subprocess.run(  # noqa: S603
            [program, "check"], capture_output=True, text=True, stdin=subprocess.DEVNULL,
            check=False, timeout=30,
        )  # fmt: skip
        found: dict[str, Any] = json.loads(done.stdout)
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        return {"missing": [f"a {PROGRAM} that works ({program}: {error}): {remedy('setup')}"]}
    return found


@dataclass(frozen=True)
class Examined:
    """What can be said of a scenario before anything runs."""

    refused: list[str]
    """What it asks for that the lab has not, a line each with its remedy."""
    deviations: list[str]
    """What a kernel does its own way, whatever the scenario says."""


def examine(scenario: Scenario, *, ip: int, generator: str) -> Examined:
    """Ask the program what it thinks of a scenario: `tidegate-lab examine`."""
    command = [find() or PROGRAM, "examine", "--ip", str(ip), "--generator", generator]
    try:
        done = subprocess.run(  # noqa: S603
            command, capture_output=True, text=True, input=scenario.to_toml(), check=False,
            errors="replace",
        )  # fmt: skip
        found: dict[str, Any] = json.loads(done.stdout)
        return Examined(list(map(str, found["refused"])), _folded(found["deviations"]))
    except (OSError, ValueError, KeyError, TypeError) as error:
        lacking = f"a {PROGRAM} of this version ({error}): {remedy('setup')}"
        raise MissingError([lacking]) from error


class Children:
    """Runs of the program in progress; `stop` ends them all and lets none begin."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: set[subprocess.Popen[str]] = set()
        self._stopped = False
        self._shown: set[str] = set()

    def run(
        self,
        scenario: Scenario,
        seed: int,
        *,
        ip: int,
        generator: str,
        verbose: bool,
        tell: Callable[[float, float], None],
        kernel: guest.Kernel | None = None,
    ) -> Measured:
        """Run the scenario once; `tell` hears of (done, all) seconds.

        A kernel runs it in a guest.
        """
        options = ["--seed", str(seed), "--ip", str(ip), "--generator", generator, "--progress"]
        options += ["--verbose"] if verbose else []
        with tempfile.TemporaryFile("w+", encoding="utf-8") as output:
            if kernel is None:
                code, lines, busy = self._here(scenario, options, output, tell, aloud=verbose)
            else:
                task = guest.lab_task(find() or PROGRAM, scenario, ["run", *options], generator)
                shift = guest.icount_shift(scenario)
                code, lines, busy = self.in_guest(kernel, task, seed, output, tell, shift)
            if code:
                raise _failure(code, seed, lines)
            output.seek(0)
            try:
                run = read(json.load(output), seed, ip=ip, generator=generator)
            except (KeyError, ValueError, TypeError, AttributeError, pa.ArrowException) as error:
                raise LabError(seed, f"{PROGRAM} gave no valid result: {error!r}") from error
            run.about["busy_share"] = busy
            if kernel is not None:
                shift = guest.icount_shift(scenario)
                run.about.update(qemu=guest.qemu_version(), icount_shift=shift)
            return run

    def _here(
        self,
        scenario: Scenario,
        options: list[str],
        output: IO[str],
        tell: Callable[[float, float], None],
        *,
        aloud: bool,
    ) -> tuple[int, list[str], float]:
        """Run the program on this machine's kernel.

        Returns its exit code, its lines beside progress, and how busy the machine was.
        """
        before = processor_time()
        process = self._start([find() or PROGRAM, "run", *options], output)
        # A source that is not served in time looks like one that has nothing to send, which no
        # report on the forwarder shows: let the whole process go before others. Root may.
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, process.pid, FAVOURED)
        try:
            stderr_lines = self._follow(process, scenario.to_toml(), tell, aloud=aloud)
            code = process.wait()
        finally:
            self._end(process)
        return code, stderr_lines, busy_share(before, processor_time())

    def in_guest(
        self,
        kernel: guest.Kernel,
        task: guest.Task,
        seed: int,
        output: IO[str],
        tell: Callable[[float, float], None],
        shift: int = guest.ICOUNT_SHIFT,
    ) -> tuple[int, list[str], float]:
        """Boot a kernel for a task.

        Returns the task's exit code, its lines beside progress, and how busy the guest was.
        """
        descriptor = guest.file_system(kernel, task)
        try:
            command = guest.command(kernel, descriptor, seed, shift)
            # That program ends with this one, however this one ends; qemu alone would run on.
            held = [find() or PROGRAM, "exec", *command]
            process = self._start(held, output, descriptors=(descriptor,))
        finally:
            os.close(descriptor)
        try:
            stderr_lines = self._follow(process, "", tell, aloud=False)
            ended = process.wait()
        finally:
            self._end(process)
        report = guest.report(stderr_lines)
        if report.code is None:
            raise _failure(ended or 1, seed, report.lines or ["the guest stopped before its task"])
        return report.code, report.lines, busy_share(*report.processor_time)

    def stop(self) -> None:
        """Ask all to end, and kill those that do not."""
        with self._lock:
            self._stopped = True
            running = list(self._running)
        for process in running:
            _signal(process, signal.SIGTERM)
        for process in running:
            self._end(process)

    def _start(
        self, command: list[str], output: IO[str], descriptors: tuple[int, ...] = ()
    ) -> subprocess.Popen[str]:
        with self._lock:
            if self._stopped:
                raise LabError(-1, "stopped")
            # A process group of its own: Ctrl-C in a terminal reaches us alone, and we end it.
            process = subprocess.Popen(  # noqa: S603
                command, stdin=subprocess.PIPE, stdout=output, stderr=subprocess.PIPE, text=True,
                errors="replace", process_group=0, pass_fds=descriptors,
            )  # fmt: skip
            self._running.add(process)
        return process

    def _follow(
        self,
        process: subprocess.Popen[str],
        scenario: str,
        tell: Callable[[float, float], None],
        *,
        aloud: bool,
    ) -> list[str]:
        """Give the scenario, pass progress on, return the other lines of standard error."""
        stderr_lines = []
        assert process.stdin is not None, "stdin is a pipe"  # noqa: S101
        assert process.stderr is not None, "stderr is a pipe"  # noqa: S101
        try:
            with process.stdin as gives:
                gives.write(scenario)
        except BrokenPipeError:
            pass  # it ended before it read; its exit code says why
        with process.stderr as lines:
            for line in lines:
                match line.split():
                    case ["t", done, total]:
                        tell(float(done), float(total))
                    case []:
                        pass
                    case _:
                        stderr_lines.append(line.rstrip())
                        self._say(stderr_lines[-1], aloud=aloud)
        return stderr_lines

    def _say(self, line: str, *, aloud: bool) -> None:
        """Pass a line on, once for all runs; what goes wrong comes with the error anyway."""
        with self._lock:
            known = line in self._shown
            self._shown.add(line)
        if aloud and not known:
            sys.stderr.write(one_line(line) + "\n")

    def _end(self, process: subprocess.Popen[str]) -> None:
        try:
            process.wait(GRACE_S if self._stopped else 0)
        except subprocess.TimeoutExpired:
            _signal(process, signal.SIGKILL)
            process.wait()
        with self._lock:
            self._running.discard(process)


def read(document: Mapping[str, Any], seed: int, *, ip: int, generator: str) -> Measured:
    """Columns with their types, and what is known about the run, from the program's JSON."""
    given = document["tables"]
    columns = {
        schema.name: {
            column.name: _typed(column, given[schema.name][column.name])
            for column in schema.columns
        }
        for schema in ENGINE
        if schema.name in given
    }
    kernel = document.get("kernel", {})
    about = {
        "valid": bool(document["forwarder"]["valid"]),
        "reasons": "; ".join(document["forwarder"].get("reasons", [])),
        **_flat(document["forwarder"], without=("valid", "reasons")),
        **{f"load_{name}": value for name, value in _flat(document.get("load", {})).items()},
        "deviations": "; ".join(_folded(document.get("deviations", []))),
        "kernel": kernel.get("release", ""),
        "congestion_controls": " ".join(kernel.get("congestion_controls", [])),
        "ip": int(document.get("ip", ip)),
        "generator": generator,
    }
    return Measured(seed, columns, about)


def processor_time() -> tuple[int, int]:
    """Busy and total time of all processors so far, in ticks."""
    return guest.processor_time(Path("/proc/stat").read_text(encoding="ascii").partition("\n")[0])


def busy_share(before: tuple[int, int], after: tuple[int, int]) -> float:
    """Share of all processors' time in which they were busy, with whatever it was.

    >>> busy_share((100, 1000), (150, 1200))
    0.25
    """
    total = after[1] - before[1]
    return (after[0] - before[0]) / total if total else float("nan")


def lab_table(runs: Sequence[Measured]) -> pa.Table:
    """One row per replication: how well the machine kept up, and on which kernel."""
    columns: dict[str, object] = {
        "replication": np.arange(len(runs), dtype="u4"),
        "seed": np.array([run.seed for run in runs], dtype="u8"),
    }
    for column in LAB.columns:
        columns[column.name] = pa.array([run.about.get(column.name) for run in runs], column.type)
    return table(columns)


def _typed(column: Column, values: Sequence[Any]) -> pa.Array:
    """JSON does not tell types, and null has none. Groups come by index."""
    return pa.array(values, pa.uint32() if column.type_name == "dictionary" else column.type)


def _flat(content: Mapping[str, Any], without: tuple[str, ...] = ()) -> dict[str, object]:
    """A row's values; a float stays one when its value is whole."""
    row: dict[str, object] = {}
    for name, value in content.items():
        if name in without:
            continue
        if isinstance(value, list):
            row[name] = "; ".join(map(str, value))
        elif name.endswith(("_s", "_share", "_ratio")) and value is not None:
            row[name] = float(value)
        else:
            row[name] = value
    return row


def _folded(deviations: Sequence[str]) -> list[str]:
    """Lines "group: what", with all groups of the same in front; of all groups: without.

    >>> _folded(["a: no ECN", "b: no ECN", "b: slow", "b: no ECN"])
    ['no ECN', 'b: slow']
    """
    groups: dict[str, list[str]] = {}
    for line in deviations:
        group, _, what = line.rpartition(": ")
        known = groups.setdefault(what, [])
        known += [] if group in known else [group]
    every = {group for known in groups.values() for group in known}
    return [
        what if set(known) == every or known == [""] else f"{', '.join(known)}: {what}"
        for what, known in groups.items()
    ]


def _signal(process: subprocess.Popen[str], number: signal.Signals) -> None:
    """To its whole group, for it may have started iperf3."""
    if process.poll() is not None:
        return
    with suppress(ProcessLookupError):
        os.killpg(process.pid, number)


def _failure(code: int, seed: int, stderr_lines: list[str]) -> Exception:
    lines = [line for line in stderr_lines if line.strip()]
    if code == MISSING:
        return MissingError(lines or ["something that it does not name"])
    if code == REFUSED:
        return ScenarioError([(None, None, "", line, None, line) for line in lines])
    why = "; ".join(lines[-3:])
    ended = f"ended by signal {-code}" if code < 0 else f"ended with {code}"
    return LabError(seed, f"{PROGRAM} {ended}" + (f": {why}" if why else ""))
