"""`tidegate compare`."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tidegate.cli.common import (
    Format,
    Quiet,
    Shape,
    command,
    print_csv,
    print_json,
    print_tables,
    say,
)
from tidegate.cli.endings import eprint
from tidegate.errors import ResultError, UsageError
from tidegate.escapes import one_line
from tidegate.results.manifests import known_manifest
from tidegate.results.places import check_writable

if TYPE_CHECKING:
    from tidegate.results.comparing import SideBySide
    from tidegate.results.result import Result

_LONGEST_NAME = 100
"""Maximum bytes of each side's name; a folder's name has 255."""


@command
def compare(
    result: Annotated[Path, typer.Argument(metavar="RESULT", help="First result folder.")],
    other: Annotated[Path, typer.Argument(metavar="RESULT", help="Second result folder.")],
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            envvar="TIDEGATE_OUT",
            help="Folder of the figure; default: results/A--B-HASH.",
        ),
    ] = None,
    save: Annotated[bool, typer.Option(help="Draw the figure.")] = True,
    shape: Shape = Format.table,
    quiet: Quiet = False,
) -> None:
    """Compare two saved results: a simulation and real Linux, or any other two.

    **Examples**

    tidegate compare results/evening-peak-1a2b3c4d results/evening-peak-lab-5e6f7a8b

    tidegate compare results/one results/other --format csv > differences.csv
    """
    from tidegate.results.comparing import compare_results, grid
    from tidegate.results.show import rich_table

    if save and out:
        check_writable(out)
    a, b = _single(result), _single(other)
    alike = a.kind == b.kind and a.scenario.name == b.scenario.name
    names = (_name(result), _name(other)) if alike else None
    both = compare_results(a, b, names=names)
    for line in [] if quiet else _warnings(both):
        eprint(line)
    files, failure = [], None
    try:
        if save:
            files = both.plot(out or _default_folder(both, (result, other)))
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
        say("mean ± 95 % confidence; differences with Welch's interval")
        for path in files:
            say(f"figure: {path}")
    if failure:
        raise ResultError(f"not drawn: {failure}") from failure


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
    (first, a), (second, b) = both.results.items()
    lines = []
    if a.hash != b.hash:
        lines.append(f"the scenarios differ, {one_line(first)} against {one_line(second)}:")
        lines += ["  {}: {} | {}".format(*map(one_line, setting)) for setting in both.settings]
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


def _default_folder(both: SideBySide, folders: tuple[Path, Path]) -> Path:
    """Return a name made of both folders and a hash of their contents."""
    names = []
    for folder in map(Path.resolve, folders):
        variant = known_manifest(folder.parent) is not None
        name = f"{folder.parent.name}-{folder.name}" if variant else folder.name
        names.append(name.encode()[:_LONGEST_NAME].decode(errors="ignore"))
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
        for side, (name, result) in zip("ab", both.results.items(), strict=True)
    }  # fmt: skip
    settings = [{"key": key, "a": left, "b": right} for key, left, right in both.settings]
    return {
        **about,
        "settings": settings,
        "differences": both.table().to_pylist(),
        "figures": [str(path) for path in files],
    }
