"""Options, output and exit codes that the commands share."""

from __future__ import annotations

import functools
import json
import math
import os
import sys
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, ParamSpec, TypeAlias

import typer

from tidegate.cli.endings import INTERRUPTED, eprint, exit_now, interruptible
from tidegate.errors import TidegateError, UsageError
from tidegate.escapes import in_json, lines, one_line
from tidegate.extras import EXTRAS, MissingLibraryError, require
from tidegate.runs.execution import MAX_JOBS, MAX_REPLICATIONS, Threads

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from rich.console import Console, RenderableType

    from tidegate._native import Scenario
    from tidegate.figures.output import Output
    from tidegate.runs.execution import Executor

Arguments = ParamSpec("Arguments")

LONGEST_SHOWN = 160


class Format(StrEnum):
    """Output formats."""

    table = "table"
    json = "json"
    csv = "csv"


class Place(StrEnum):
    """Executors of runs."""

    threads = "threads"
    dask = "dask"


Set: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Override a key of the scenario file, such as users.heavy.flows=20 (repeatable).",
    ),
]
Add: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--add",
        metavar="KEY=VALUE",
        help="Add a key of a new group or link, such as users.guest.flows=2 (repeatable).",
    ),
]
Against: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--against",
        metavar="KEY=VALUE",
        help="Also run the scenario with this key overridden, and print both (repeatable).",
    ),
]
With: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--with",
        metavar="MECHANISM",
        help="Also run it with this mechanism in place of its queue, as the league has it, such as "
        "fq-codel or abc-red (repeatable; `tidegate list league` names all).",
    ),
]
Only: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--only", metavar="VARIANT", help="Of the file's variants, run this one (repeatable)."
    ),
]
Seed: TypeAlias = Annotated[
    int | None,
    typer.Option(
        help="Seed of the first replication; replication r has seed + r.", envvar="TIDEGATE_SEED"
    ),
]
Replications: TypeAlias = Annotated[
    int | None,
    typer.Option(
        "--replications", "-r", min=1, max=MAX_REPLICATIONS, help="Number of independent runs."
    ),
]
Until: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--until", metavar="'QUANTITY WIDTH'",
        help="Add runs until the half-width of this metric's 95 % confidence interval is below "
        "WIDTH for every group or link, such as 'throughput_bps 2 %' or 'p95_sojourn_s 1 ms' "
        "(repeatable).",
    ),
]  # fmt: skip
AtMost: TypeAlias = Annotated[
    int | None,
    typer.Option(
        "--at-most", min=1, max=MAX_REPLICATIONS,
        help="With --until: maximum number of runs; default: 1000.",
    ),
]  # fmt: skip
Jobs: TypeAlias = Annotated[
    int | None,
    typer.Option(
        "--jobs", "-j", min=1, max=MAX_JOBS, envvar="TIDEGATE_JOBS",
        help="Number of threads, or of processes of a local cluster; default: one per core. "
        "Results do not depend on it.",
    ),
]  # fmt: skip
Engine: TypeAlias = Annotated[
    Place, typer.Option("--engine", help="Run on threads of this machine or on a Dask cluster.")
]
Scheduler: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS", envvar="TIDEGATE_SCHEDULER",
        help="With --engine dask: address of the scheduler; default: start a local cluster.",
    ),
]  # fmt: skip
Out: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="DIR", envvar="TIDEGATE_OUT", help="Result folder; default: results/NAME-HASH."
    ),
]
Save: TypeAlias = Annotated[bool, typer.Option(help="Write the result folder.")]
Figures: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--figures", metavar="FORMATS",
        help="Draw figures in these formats: png, svg, pdf or several, such as svg,pdf.",
    ),
]  # fmt: skip
FigureWidth: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--figure-width", metavar="WIDTH",
        help="Width of figures for a column of a paper, such as 84mm; they have no title then.",
    ),
]  # fmt: skip
FigureFont: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--figure-font", metavar="FONT",
        help="Font and size of figures, such as serif, 9pt or 'serif, 9pt'.",
    ),
]  # fmt: skip
Shape: TypeAlias = Annotated[Format, typer.Option("--format", "-f", help="Output format.")]
ShowProgress: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--progress",
        help="Print progress also where standard error is no terminal: a line every 5 s.",
    ),
]
Quiet: TypeAlias = Annotated[
    bool, typer.Option("--quiet", "-q", help="Print no progress and no warnings.")
]


def command(function: Callable[Arguments, None]) -> Callable[Arguments, None]:
    """Turn errors into a message on stderr and an exit code."""

    @functools.wraps(function)
    def wrapped(*args: Arguments.args, **kwargs: Arguments.kwargs) -> None:
        try:
            with interruptible():
                function(*args, **kwargs)
        except TidegateError as error:
            eprint(f"tidegate: {error}" if error.exit_code != 3 else str(error))
            raise typer.Exit(error.exit_code) from None
        except ModuleNotFoundError as error:
            if error.name not in EXTRAS:
                raise
            eprint(f"tidegate: {MissingLibraryError(error.name)}")
            raise typer.Exit(MissingLibraryError.exit_code) from None
        except BrokenPipeError:
            exit_now(0)  # the reader, such as `head`, has seen enough
        except KeyboardInterrupt:
            eprint("interrupted")
            exit_now(INTERRUPTED)

    return wrapped


def executor(engine: Place, scheduler: str | None, jobs: int | None) -> Executor:
    """Return the executor of runs; the caller closes it."""
    if engine is Place.threads:
        if given(scheduler, "TIDEGATE_SCHEDULER"):
            raise UsageError("--scheduler goes with --engine dask")
        return Threads(jobs)
    from tidegate.runs.cluster import Cluster

    return Cluster(scheduler, jobs, eprint)


def figure_output(
    figures: str | None, width: str | None, font: str | None, *, plot: bool = False
) -> Output | None:
    """Return how figures are written; nothing where nothing is asked for.

    Where there will be figures, raises before the work if they cannot be drawn.
    """
    asked_for = (figures, width, font) != (None, None, None)
    if plot or asked_for:
        require("matplotlib")
    if not asked_for:
        return None
    from tidegate.figures.output import Output

    return Output.of(figures, width, font)


def progress_of(*, lines: bool, quiet: bool) -> bool | str:
    """Return how progress is shown."""
    from tidegate.runs.progress import LINES

    return LINES if lines else not quiet


def typed(out: str | os.PathLike[str] | None) -> bool:
    """Return whether the folder comes from the command line, not from TIDEGATE_OUT."""
    return given(out, "TIDEGATE_OUT")


def given(option: str | os.PathLike[str] | None, variable: str) -> bool:
    """Return whether the option comes from the command line, not from the environment."""
    return option is not None and os.fspath(option) != os.environ.get(variable)


def say(text: object = "") -> None:
    """Print to stdout, with control characters escaped."""
    typer.echo(lines(text))


def print_warnings(path: Path, scenario: Scenario) -> None:
    """Print the scenario's warnings to stderr."""
    for _, _, _, _, _, text in scenario.warnings():
        eprint(f"{one_line(path)}: warning: {text}")


def print_warnings_of_variants(
    path: Path, base: Scenario, variants: Mapping[str, Scenario]
) -> None:
    """Print the warnings of variants that the file as it stands has not."""
    known = {text for *_, text in base.warnings()}
    for name, scenario in variants.items():
        for *_, text in scenario.warnings():
            if text not in known:
                eprint(f"{one_line(path)}: {one_line(name)}: warning: {text}")


def print_base_alone(path: Path, scenario: Scenario) -> None:
    """Say that variants and the sweep of a file are left out."""
    parts = [*["[variants]"] * bool(scenario.variants()), *["a [sweep]"] * bool(scenario.points())]
    if parts:
        eprint(f"{one_line(path)} has {' and '.join(parts)}; this is the file as it stands")


def print_settled(path: Path, scenario: Scenario, given: Sequence[tuple[str, str]]) -> None:
    """Warn of variants with a value of their own for a key that is set."""
    from tidegate.scenarios.variants import settled_by_variants

    for key, _ in given:
        for name in settled_by_variants(scenario, key):
            eprint(f"{one_line(path)}: warning: variant {name} has its own {one_line(key)}")


def overrides(settings: Sequence[str] | None, option: str = "--set") -> list[tuple[str, str]]:
    """Split KEY=VALUE."""
    pairs = []
    for text in settings or ():
        key, sign, value = text.partition("=")
        if not sign or not key.strip():
            raise UsageError(f"{option}: {_short(text)!r} is not of the form KEY=VALUE")
        pairs.append((key.strip(), value.strip()))
    return pairs


def changes(settings: Sequence[str] | None, added: Sequence[str] | None) -> list[tuple[str, str]]:
    """Return --add and --set as overrides, in this order: --set may change what is added."""
    from tidegate.scenarios.reading import ADD

    new = [(f"{ADD}{key}", value) for key, value in overrides(added, "--add")]
    return new + overrides(settings)


def _short(text: str) -> str:
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}..."


def print_json(content: object) -> None:
    """Print as JSON; NaN and infinities are null."""
    typer.echo(_json(content))


def print_json_rows(
    head: Mapping[str, object], name: str, rows: Iterable[object], tail: Mapping[str, object]
) -> None:
    """Print an object with a list that is too long for memory, row by row."""
    typer.echo("{")
    for key, value in head.items():
        typer.echo(f"  {json.dumps(key)}: {_indented(value)},")
    typer.echo(f"  {json.dumps(name)}: [", nl=False)
    for number, row in enumerate(rows):
        typer.echo(f"{',' if number else ''}\n    {_indented(row, 4)}", nl=False)
    typer.echo("\n  ]", nl=False)
    for key, value in tail.items():
        typer.echo(f",\n  {json.dumps(key)}: {_indented(value)}", nl=False)
    typer.echo("\n}")


def _json(content: object) -> str:
    return in_json(json.dumps(finite(content), indent=2, ensure_ascii=False))


def _indented(value: object, by: int = 2) -> str:
    return _json(value).replace("\n", "\n" + " " * by)


def print_csv(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print as CSV; a missing number is an empty field."""
    import csv

    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(map(_cell, headings))
    writer.writerows(map(_cell, row) for row in rows)


def _cell(cell: object) -> object:
    if isinstance(cell, str):
        return one_line(cell)
    return "" if finite(cell) is None else cell


def print_tables(tables: Sequence[RenderableType]) -> None:
    """Print tables, at full width into a file or pipe."""
    console = stdout_console()
    if console.is_terminal:
        for table in tables:
            console.print(table)
        return
    with console.capture() as captured:
        for table in tables:
            console.print(table)
    typer.echo("\n".join(line.rstrip() for line in captured.get().splitlines()))


def stdout_console() -> Console:
    """Return a console that wraps and colours only in a terminal."""
    from rich.console import Console

    return Console() if sys.stdout.isatty() else Console(width=240, no_color=True)


def finite(content: object) -> object:
    """Replace NaN and infinities, which JSON does not have, by None."""
    if isinstance(content, float) and not math.isfinite(content):
        return None
    if isinstance(content, dict):
        return {key: finite(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [finite(value) for value in content]
    return content
