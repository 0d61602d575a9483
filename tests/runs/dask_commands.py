"""A scheduler and workers, started as anybody would, on loopback ports that are free."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import distributed
from support import PATIENCE_S

COMMAND = Path(sys.executable).with_name("dask")


class Dask:
    """Ends with all that was started."""

    def __init__(self, folder, *, protocol="tcp", **environment):
        self.folder = folder
        self.file = folder / "scheduler.json"
        self.environment = {**os.environ, **environment}
        self.started = []
        self.scheduler = self._start(
            "scheduler", "--host", "127.0.0.1", "--port", "0", "--protocol", protocol
        )
        while not self.address:
            assert self.scheduler.poll() is None, "the scheduler did not start"
            time.sleep(0.05)

    def _start(self, what, *arguments):
        arguments = [COMMAND, what, "--scheduler-file", self.file, "--no-dashboard", *arguments]
        with (self.folder / f"{what}.log").open("a") as log:
            process = subprocess.Popen(
                arguments, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                env=self.environment, start_new_session=True,
            )  # fmt: skip
        self.started.append(process)
        return process

    @property
    def address(self):
        try:
            return json.loads(self.file.read_text())["address"]
        except (OSError, ValueError):
            return None

    def worker(self, *arguments, preload=None):
        """Start a worker of one thread; `preload` is Python that it runs first."""
        if preload:
            path = self.folder / f"preload-{len(self.started)}.py"
            path.write_text(preload)
            arguments = (*arguments, "--preload", path)
        return self._start("worker", "--host", "127.0.0.1", "--nthreads", "1", *arguments)

    def wait_for_workers(self, count):
        with distributed.Client(self.address, set_as_default=False) as client:
            client.wait_for_workers(count, timeout=PATIENCE_S)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in reversed(self.started):
            if process.poll() is None:
                # A nanny's worker is in its session.
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def wait_until(true, process):
    """Until something is so, or the process that should bring it about has ended."""
    deadline = time.monotonic() + PATIENCE_S
    while not true():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.05)
