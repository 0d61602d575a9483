import fcntl
import json
import os
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
from command_server import COMMAND

import tidegate
from tidegate.laboratory import bpf, guest, process

ROOT = Path(__file__).resolve().parent.parent

TINY = """
version = 1
warm_up = "0.5 s"
duration = "1 s"
[bottleneck]
rate = "1 Mb/s"
[users.a]
"""

SMALL = """\
version = 1
name = "small"
seed = 5
replications = 3
warm_up = "1 s"
duration = "2 s"

[bottleneck]
rate = "10 Mb/s"
delay = "5 ms"
buffer = "50 packets"
aqm = { kind = "piecewise-linear", function = "pf-11-17-24-0.01" }
differentiation = { kind = "abc", gamma = 3.0 }

[users.heavy]
flows = 4
meter = { reference_rate = "0.05 Mb/s" }

[users.light]
count = 2
meter = { reference_rate = "0.05 Mb/s" }
"""

SWEEP = (
    SMALL
    + """
[sweep]
"users.heavy.flows" = [1, 4]
"bottleneck.differentiation.gamma" = [0.0, 3.0]
"""
)


PATIENCE_S = 600
"""Far more than what is waited for takes on a busy machine, and less than a test may last."""

GO_ON = "go-on"
"""A file that lets runs that are held go on."""


def held(pattern, most):
    """Python that holds all further runs of a command once so many files are there.

    What shall happen in the middle happens in the middle, however fast the runs are and however
    slow the test is to look.
    """
    return f"""
import time
from pathlib import Path
from tidegate.runs import sweep_work
from tidegate.studies import running

def held(do):
    def wait_and_do(*asked):
        while len(list(Path().glob({pattern!r}))) >= {most} and not Path({GO_ON!r}).exists():
            time.sleep(0.01)
        return do(*asked)
    return wait_and_do

sweep_work.run_batch, running._do = held(sweep_work.run_batch), held(running._do)
"""


def comes(condition, patience_s=PATIENCE_S):
    """Whether something becomes so."""
    until = time.monotonic() + patience_s
    while not condition() and time.monotonic() < until:
        time.sleep(0.02)
    return condition()


def lab_lacking():
    """What keeps the lab from running here, on this kernel and in a guest; empty: it runs.

    Without root it runs on a stock kernel, where `make kernels` has fetched one.
    """
    lacking = process.missing()
    if lacking and not guest_lacking():
        return []
    return [*lacking, *guest_lacking()] if lacking else []


def guest_lacking():
    """What keeps the lab from running in a guest."""
    if not guest.kernels():
        return [f"no kernels in {guest.folder()}: make kernels"]
    return process.missing(kernel=guest.chosen("auto"))


def where_the_lab_runs():
    """Whether `tidegate.lab` is to be told a kernel here."""
    return {"kernel": "auto"} if process.missing() else {}


def lab_that_counts(scenario, **how):
    """Run a lab; where the machine is too busy for it thrice, that is no failure of ours."""
    for _ in range(3):
        result = tidegate.lab(scenario, replications=1, **where_the_lab_runs(), **how)
        if not result.invalid:
            return result
    return pytest.skip(f"the machine is too busy: {result.invalid[0][1]}")


@contextmanager
def turn():
    """Have the names of our congestion controls to oneself.

    They are one for the machine: whoever registers them in a test takes turns by this file.
    """
    with Path(tempfile.gettempdir(), "tidegate-test-controls.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def lacking_for_controls():
    """What the lab lacks to run with our congestion controls, a line each."""
    if lab := process.missing():
        return lab
    with turn():
        return bpf.missing()


class Command:
    """Runs the command in a folder of its own, as a user would."""

    def __init__(self, folder, commands):
        self.folder = folder
        self._commands = commands

    def environment(self, **more):
        # Which program the lab's tests are about is not a matter of the user's habits.
        kept = {
            k: v
            for k, v in os.environ.items()
            if not k.startswith("TIDEGATE_") or k in {"TIDEGATE_LAB", "TIDEGATE_BPF"}
        }
        return {**kept, **more}

    def __call__(self, *arguments, **environment):
        environment = self.environment(**environment)
        return self._commands.run([*map(str, arguments)], self.folder, environment, PATIENCE_S)

    def process(self, *arguments, **environment):
        """Run the installed program, which imports all that it takes by itself."""
        return subprocess.run(
            [COMMAND, *map(str, arguments)], cwd=self.folder, capture_output=True, text=True,
            stdin=subprocess.DEVNULL, timeout=PATIENCE_S, env=self.environment(**environment),
        )  # fmt: skip

    def start(self, *arguments, hold=None, **environment):
        """Start it; `hold` is what `held` gives."""
        main = "import sys\nfrom tidegate.cli import main\nsys.argv[0] = 'tidegate'\nmain()"
        command = [sys.executable, "-c", hold + main] if hold else [COMMAND]
        return subprocess.Popen(
            [*command, *map(str, arguments)], cwd=self.folder, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True,
            env=self.environment(**environment),
        )  # fmt: skip

    def go_on(self):
        """Let runs that are held go on."""
        (self.folder / GO_ON).touch()

    @staticmethod
    def wait_until_it_computes(process, cpu_s=3.0):
        """Starting costs less than a second of processor time, however busy the machine is."""
        while process.poll() is None:
            fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
            if sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK") > cpu_s:
                return
            time.sleep(0.05)
        raise AssertionError(f"ended with {process.returncode}: {process.communicate()}")

    def json(self, *arguments):
        done = self(*arguments, "--format", "json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)
