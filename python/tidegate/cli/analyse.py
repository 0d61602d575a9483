"""`tidegate analyse`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tidegate.cli.common import (
    FigureFont,
    Figures,
    FigureWidth,
    Format,
    Quiet,
    Set,
    Shape,
    command,
    figure_output,
    overrides,
    print_base_alone,
    print_csv,
    print_json,
    print_tables,
    print_warnings,
    say,
)
from tidegate.cli.endings import eprint
from tidegate.escapes import one_line

if TYPE_CHECKING:
    from tidegate.analysis.analyse import Analysis
    from tidegate.figures.output import Output


class View(StrEnum):
    """Views of the analysis."""

    optimum = "optimum"
    equilibrium = "equilibrium"
    stability = "stability"
    fluid = "fluid"
    activity = "activity"
    blocking = "blocking"


@command
def analyse(
    scenario: Annotated[Path, typer.Argument(help="Scenario file.", show_default=False)],
    view: Annotated[View | None, typer.Argument(help="One view; default: all that apply.")] = None,
    set_: Set = None,
    out: Annotated[
        str | None,
        typer.Option(
            metavar="DIR",
            envvar="TIDEGATE_OUT",
            help="Write tables and JSON there; default with --plot: results/NAME-HASH-analysis.",
        ),
    ] = None,
    plot: Annotated[bool, typer.Option("--plot", help="Also draw figures there.")] = False,
    figures: Figures = None,
    figure_width: FigureWidth = None,
    figure_font: FigureFont = None,
    shape: Shape = Format.table,
    quiet: Quiet = False,
) -> None:
    """Compute equilibrium, stability, optimum and more, without a simulation.

    How should it be shared (optimum), where does it settle (equilibrium), does it swing
    (stability, fluid), what do activity meters show, how many calls fit (blocking)?

    For example:

    tidegate analyse scenarios/parking-lot.toml

    tidegate analyse scenarios/s2-red-ecn.toml stability --set users.light.count=180

    tidegate analyse scenarios/two-cbr-users.toml equilibrium --format json
    """
    from tidegate.analysis.analyse import analyse_scenario
    from tidegate.scenarios.reading import parse

    output = figure_output(figures, figure_width, figure_font, plot=plot)
    plot = plot or output is not None
    read = parse(scenario, overrides(set_))
    if not quiet:
        print_warnings(scenario, read)
        print_base_alone(scenario, read)
    found = analyse_scenario(read, view.value if view else None)
    folder, files = _save(found, out, output, plot=plot) if out or plot else (None, [])
    _print(found, shape, folder, files)
    if folder and shape is not Format.table and not quiet:
        eprint(_saved(folder, files))


def _print(found: Analysis, shape: Format, folder: Path | None, files: list[Path]) -> None:
    if shape is Format.json:
        place = {"folder": str(folder) if folder else None, "figures": list(map(str, files))}
        print_json({**found.to_dict(), **place})
    elif shape is Format.csv:
        print_csv(("view", "table", "row", "quantity", "value"), _cells(found))
    else:
        _print_tables(found)
        if folder:
            say(_saved(folder, files))


def _saved(folder: Path, files: list[Path]) -> str:
    names = ", ".join(path.name for path in files)
    return f"analysis in {folder}" + (f": {names}" if names else "")


def _save(
    found: Analysis, out: str | None, output: Output | None, *, plot: bool
) -> tuple[Path, list[Path]]:
    from tidegate.analysis.keeping import default_folder, keep
    from tidegate.results.store import hand_over

    folder = Path(out) if out else default_folder(found.scenario)
    keep(found, folder)
    files = _drawn(found, folder, output) if plot else []
    hand_over(folder)
    return folder, files


def _drawn(found: Analysis, folder: Path, output: Output | None) -> list[Path]:
    from tidegate.analysis.figures import draw

    return draw(found, folder, output)


def _cells(found: Analysis) -> list[list[object]]:
    rows: list[list[object]] = []
    for view, one in found.answers.items():
        rows += [[view, "", "", name, value] for name, value in one.values.items()]
        for table, lines in one.tables.items():
            for line in lines:
                name, *others = line.items()
                rows += [[view, table, name[1], quantity, value] for quantity, value in others]
    return rows


def _print_tables(found: Analysis) -> None:
    from tidegate.analysis.show import paragraphs, tables_of

    say(f"{one_line(found.scenario.name)}\n")
    for view, one in found.answers.items():
        before, after = paragraphs(view, one)
        say(before)
        print_tables(tables_of(one))
        say(after)
    for view, silence in found.silences.items():
        say(f"{view} does not apply: {silence}")
