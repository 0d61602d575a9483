"""Runs the command many times in forks of one process that has imported its libraries.

Each run has its own environment, folder, output files and signal handlers, as a process started
by a shell has; only imports and the interpreter's end, which cost more than most commands, are
saved. The program reads requests from the socket whose descriptor is its argument, and ends with
the socket.
"""

import array
import atexit
import gc
import importlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

COMMAND = Path(sys.executable).with_name("tidegate")

LIBRARIES = (
    "matplotlib.backends.backend_agg",
    "matplotlib.figure",
    "pyarrow.dataset",
    "pyarrow.parquet",
    "rich.progress",
    "rich.table",
    "scipy.special",
    "scipy.stats",
    "sqlite3",
    "tidegate.cli.commands",
    "tidegate.runs.sweep_work",
)


class Commands:
    """The tests' side: starts the program at the first command."""

    def __init__(self):
        self._program = self._socket = None

    def close(self):
        if self._program:
            self._socket.close()
            self._program.wait()
            self._program = self._socket = None

    def run(self, arguments, folder, environment, patience_s):
        """Return what `subprocess.run` returns."""
        if not self._program:
            self._start()
        command = [str(COMMAND), *arguments]
        asked = {"command": command, "folder": str(folder), "environment": environment}
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            socket.send_fds(self._socket, [b"\0"], [out.fileno(), err.fileno()])
            self._socket.sendall(json.dumps(asked).encode() + b"\n")
            child = self._answer(patience_s)
            try:
                status = self._answer(patience_s)
            except BaseException as error:
                os.kill(child, signal.SIGKILL)
                self.close()
                if isinstance(error, TimeoutError):
                    raise subprocess.TimeoutExpired(command, patience_s) from None
                raise
            texts = []
            for file in (out, err):
                file.seek(0)
                texts.append(file.read().decode())
        return subprocess.CompletedProcess(command, os.waitstatus_to_exitcode(status), *texts)

    def _start(self):
        self._socket, theirs = socket.socketpair()
        with theirs:
            self._program = subprocess.Popen(
                [sys.executable, __file__, str(theirs.fileno())],
                pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            )  # fmt: skip

    def _answer(self, patience_s):
        self._socket.settimeout(patience_s)
        answer = array.array("q")
        while not (data := self._socket.recv(answer.itemsize, socket.MSG_WAITALL)):
            raise AssertionError("the process that runs the commands has ended")
        answer.frombytes(data)
        return answer[0]


def serve(descriptor):
    """Fork at each request, and return in the child."""
    with socket.socket(fileno=descriptor) as requests, requests.makefile("rb") as lines:
        while True:
            _, outputs, _, _ = socket.recv_fds(requests, 1, 2)
            if not outputs:
                os._exit(0)
            asked = json.loads(lines.readline())
            if not (child := os.fork()):
                break
            for output in outputs:
                os.close(output)
            requests.sendall(array.array("q", [child]).tobytes())
            _, status = os.waitpid(child, 0)
            requests.sendall(array.array("q", [status]).tobytes())
    for number, output in enumerate(outputs, start=1):
        os.dup2(output, number)
        os.close(output)
    os.chdir(asked["folder"])
    os.environ.clear()
    os.environ.update(asked["environment"])
    sys.argv = asked["command"]


if __name__ == "__main__":
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    for name in LIBRARIES:
        importlib.import_module(name)
    from tidegate.cli import main

    gc.freeze()
    serve(int(sys.argv[1]))
    try:
        main()
        code = 0
    except SystemExit as end:
        code = end.code or 0
    # What the interpreter does at its end, but for taking a thousand modules apart.
    threading._shutdown()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
