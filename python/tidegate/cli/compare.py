"""`tidegate compare`."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from string import ascii_lowercase
from typing import TYPE_CHECKING, Annotated

import typer

from tidegate.cli.common import (
    FigureFont,
    Figures,
    FigureWidth,
    Format,
    Quiet,
    Shape,
    command,
    figure_output,
    print_csv,
    print_json,
    print_tables,
    say,
)
from tidegate.cli.endings import eprint
from tidegate.errors import ResultError, UsageError
from tidegate.escapes import one_line
from tidegate.extras import MissingLibraryError
from tidegate.results.manifests import known_manifest
from tidegate.results.places import check_writable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tidegate.results.comparing import SideBySide
    from tidegate.results.result import Result

_LONGEST_NAME = 200
"""Maximum bytes of all sides' names; a folder's name has 255."""


@command
def compare(
    result: Annotated[
        Path,
        typer.Argument(metavar="RESULT", help="First result folder; alone, one with variants."),
    ],
    others: Annotated[
        list[Path] | None,
        typer.Argument(metavar="RESULT...", help="Those to compare with it.", show_default=False),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            envvar="TIDEGATE_OUT",
            help="Folder of the figure; default: results/A--B-HASH.",
        ),
    ] = None,
    save: Annotated[bool, typer.Option(help="Draw the figure.")] = True,
    figures: Figures = None,
    figure_width: FigureWidth = None,
    figure_font: FigureFont = None,
    shape: Shape = Format.table,
    quiet: Quiet = False,
) -> None:
    """Compare saved results, such as a simulation and real Linux, with the first of them.

    For example:

    tidegate compare results/evening-peak-1a2b3c4d results/evening-peak-lab-5e6f7a8b

    tidegate compare results/one results/other --format csv > differences.csv

    tidegate compare results/simulated results/our-forwarder results/the-kernels-qdisc

    tidegate compare results/evening-peak-with-variants
    """
    from tidegate.results.comparing import compare_results, default_names, grid
    from tidegate.results.show import rich_table

    output = figure_output(figures, figure_width, figure_font)
    if save and out:
        check_writable(out)
    folders = (result, *others) if others else _variants(result)
    results = [_single(folder) for folder in folders]
    alike = len(set(default_names(results))) < len(results)
    names = [_name(folder) for folder in folders] if alike else None
    both = compare_results(*results, names=names)
    for line in [] if quiet else _warnings(both):
        eprint(line)
    files, failure = [], None
    try:
        if save:
            files = both.plot(out or _default_folder(both, folders), output)
    except MissingLibraryError as error:
        eprint(f"no figure: {error}")
    except ResultError as error:
        failure = error  # what was computed is printed all the same
    if shape is Format.json:
        print_json(_json(both, files))
    elif shape is Format.csv:
        content = both.table()
        print_csv(content.column_names, [list(row.values()) for row in content.to_pylist()])
        for path in [] if quiet else files:
            eprint(f"figure: {path}")
    else:
        print_tables([rich_table(grid(both))])
        paired = all(both.is_paired(side) for side in range(1, len(both.results)))
        kind = "that of runs paired by their seeds" if paired else "Welch's interval"
        say(f"mean ± 95 % confidence; differences with {kind}")
        for path in files:
            say(f"figure: {path}")
    if failure:
        raise ResultError(f"not drawn: {failure}") from failure


def _variants(folder: Path) -> tuple[Path, ...]:
    """Return the folders of a result's variants."""
    from tidegate.results.manifests import read_manifest

    found = read_manifest(folder).get("variants", [])
    if not found:
        raise UsageError(f"{folder} has one result; name another to compare it with")
    return tuple(folder / one["folder"] for one in found)


def _single(folder: Path) -> Result:
    from tidegate.results.manifests import read_manifest
    from tidegate.results.result import Result
    from tidegate.results.store import load

    result = load(folder)
    if isinstance(result, Result):
        return result
    places = [f"{folder / v['folder']} ({v['name']})" for v in read_manifest(folder)["variants"]]
    raise UsageError(f"{folder} has variants; name one of: {', '.join(places)}")


def _warnings(both: SideBySide) -> list[str]:
    lines = []
    if len({result.hash for result in both.results.values()}) > 1:
        lines.append(f"the scenarios differ, {' against '.join(map(one_line, both.results))}:")
        for key, *values in both.settings:
            lines.append(f"  {one_line(key)}: {' | '.join(map(one_line, values))}")
    lines += [
        f"{name}: {len(result.invalid)} of {result.replications} runs are invalid and do not count"
        for name, result in both.results.items() if result.invalid
    ]  # fmt: skip
    return lines


def _name(folder: Path) -> str:
    """Return the name of a result: its difference for a variant, else its folder."""
    above = known_manifest(folder.resolve().parent) or {}
    names = {one["folder"]: one["name"] for one in above.get("variants", [])}
    return str(names.get(folder.resolve().name, folder.resolve().name))


def _default_folder(both: SideBySide, folders: Sequence[Path]) -> Path:
    """Return a name made of the folders and a hash of their contents."""
    names = []
    for folder in map(Path.resolve, folders):
        variant = known_manifest(folder.parent) is not None
        name = f"{folder.parent.name}-{folder.name}" if variant else folder.name
        names.append(name.encode()[: _LONGEST_NAME // len(folders)].decode(errors="ignore"))
    content = json.dumps([both.settings, both.table().to_pylist()])
    digest = hashlib.sha256(content.encode()).hexdigest()
    return Path("results") / f"{'--'.join(names)}-{digest[:8]}"


def _json(both: SideBySide, files: list[Path]) -> dict[str, object]:
    about = {
        side: {
            "name": name, "kind": result.kind, "scenario": result.scenario.name,
            "hash": result.hash,
            "runs": result.replications, "valid_runs": result.averaged.replications,
        }
        for side, (name, result) in zip(ascii_lowercase, both.results.items(), strict=False)
    }  # fmt: skip
    settings = [
        {"key": key, **dict(zip(ascii_lowercase, values, strict=False))}
        for key, *values in both.settings
    ]
    return {
        **about,
        "settings": settings,
        "differences": both.table().to_pylist(),
        "figures": [str(path) for path in files],
    }
