"""How the command ends: interrupted at any moment, by a bug, or by a reader that leaves."""

import subprocess

import pytest
from support import COMMAND, PATIENCE_S

INTERRUPTED_AT = """
import os, signal, sys

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Finder())
"""

INTERRUPTED_AT_THE_END = """
import atexit, os, signal
atexit.register(lambda: os.kill(os.getpid(), signal.SIGINT))
"""


def started_with(command, code, *arguments):
    """The command in a Python that runs this code first, as `site` does with `sitecustomize`."""
    (command.folder / "first").mkdir(exist_ok=True)
    (command.folder / "first/sitecustomize.py").write_text(code)
    return command.process(*arguments, PYTHONPATH=str(command.folder / "first"))


@pytest.mark.parametrize(("module", "arguments"), [
    ("typer", "--help"),
    ("tidegate.cli.commands", "schema"),
    ("tidegate._native", "validate small.toml"),
    ("tidegate.errors", "--version"),
    ("tidegate.runs.simulation", "simulate small.toml -q"),
    ("numpy", "simulate small.toml -q"),
    ("pyarrow", "simulate small.toml -q"),
    ("pyarrow.lib", "simulate small.toml -q"),
    ("matplotlib.figure", "simulate small.toml -q --plot"),
    ("sqlite3", "sweep sweep.toml -q"),
    ("pyarrow.parquet", "sweep sweep.toml -q"),
    ("distributed", "sweep sweep.toml -q --engine dask"),
])  # fmt: skip
def test_an_interruption_while_something_is_imported_ends_in_a_line(
    tidegate_command, module, arguments
):
    code = INTERRUPTED_AT.format(module=module)
    done = started_with(tidegate_command, code, *arguments.split())
    assert done.returncode == 130, done.stderr
    assert done.stderr.startswith("interrupted")
    assert done.stderr.count("\n") == 1


def test_an_interruption_after_the_work_ends_in_a_line(tidegate_command):
    done = started_with(tidegate_command, INTERRUPTED_AT_THE_END, "validate", "small.toml")
    assert (done.returncode, done.stdout) == (130, "small.toml: valid\n")
    assert done.stderr == "interrupted\n"


def test_who_ignores_interruptions_is_not_interrupted(tidegate_command):
    code = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
    done = started_with(tidegate_command, code + INTERRUPTED_AT_THE_END, "validate", "small.toml")
    assert (done.returncode, done.stdout, done.stderr) == (0, "small.toml: valid\n", "")


BUG = """
import tidegate.scenarios.reading as reading

def parse(*_, **__):
    raise {error}

reading.parse = reading.text_of = parse
"""


@pytest.mark.parametrize(("error", "reported"), [
    ("ZeroDivisionError('float division by zero')", "ZeroDivisionError: float division by zero"),
    ("KeyError('flows')", "KeyError: 'flows'"),
    ("MemoryError", "MemoryError"),
    ("ValueError('one\\ntwo ' + 1000 * 'x')", "ValueError: one two xxx"),
    ("type('PanicException', (BaseException,), {})('out of bounds')", "PanicException: out of"),
])  # fmt: skip
def test_a_bug_is_told_in_a_line_and_where_it_is_on_request(tidegate_command, error, reported):
    process = tidegate_command.start("simulate", "small.toml", hold=BUG.format(error=error))
    out, output = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, out) == (70, "")
    assert output.startswith(f"tidegate: internal error: {reported}")
    assert output.endswith("; TIDEGATE_DEBUG=1 shows where\n")
    assert output.count("\n") == 1
    process = tidegate_command.start(
        "simulate", "small.toml", hold=BUG.format(error=error), TIDEGATE_DEBUG="1"
    )
    _, output = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 70
    assert output.startswith("Traceback (most recent call last):")
    assert "in parse" in output


def test_a_package_that_does_not_load_is_told_in_a_line(tidegate_command):
    code = "import sys; sys.modules['typer'] = None"
    done = started_with(tidegate_command, code, "schema")
    assert done.returncode == 70
    assert done.stderr.startswith("tidegate: internal error: ModuleNotFoundError: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("arguments", ["schema", "list", "list --format json", "--help"])
@pytest.mark.parametrize("reader", ["true", "head -c 1", "head -n 1"])
def test_a_reader_that_leaves_is_no_error(tidegate_command, arguments, reader):
    shell = f"set -o pipefail; '{COMMAND}' {arguments} | {reader} > /dev/null"
    done = subprocess.run(
        ["bash", "-c", shell], cwd=tidegate_command.folder, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_a_sweep_whose_reader_leaves_is_kept(tidegate_command):
    shell = f"set -o pipefail; '{COMMAND}' sweep sweep.toml -r 1 -q --out kept -f csv | true"
    done = subprocess.run(
        ["bash", "-c", shell], cwd=tidegate_command.folder, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert (tidegate_command.folder / "kept/manifest.json").exists()
