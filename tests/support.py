import json
import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COMMAND = Path(sys.executable).with_name("tidegate")

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


class Command:
    """Runs the installed command in a folder of its own, as a user would."""

    def __init__(self, folder):
        self.folder = folder

    def environment(self, **more):
        # Which program the lab's tests are about is not a matter of the user's habits.
        kept = {
            k: v
            for k, v in os.environ.items()
            if not k.startswith("TIDEGATE_") or k in {"TIDEGATE_LAB", "TIDEGATE_BPF"}
        }
        return {**kept, **more}

    def __call__(self, *arguments, **environment):
        return subprocess.run(
            [COMMAND, *map(str, arguments)], cwd=self.folder, capture_output=True, text=True,
            stdin=subprocess.DEVNULL, timeout=120, env=self.environment(**environment),
        )  # fmt: skip

    def start(self, *arguments, **environment):
        return subprocess.Popen(
            [COMMAND, *map(str, arguments)], cwd=self.folder, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True,
            env=self.environment(**environment),
        )  # fmt: skip

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
