"""`tidegate compare`."""

from __future__ import annotations

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
    remark,
)
from tidegate.errors import ResultError, UsageError

if TYPE_CHECKING:
    from tidegate.comparing import SideBySide
    from tidegate.result import Result


@command
def compare(
    result: Annotated[Path, typer.Argument(metavar="RESULT", help="A result folder.")],
    other: Annotated[Path, typer.Argument(metavar="RESULT", help="What to compare with it.")],
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Where to draw; default: results/A--B.")
    ] = None,
    shape: Shape = Format.table,
    quiet: Quiet = False,
) -> None:
    """Lay two saved results side by side: a simulation and real Linux, or any other two.

    **Examples**

    tidegate compare results/evening-peak-1a2b3c4d results/evening-peak-lab-5e6f7a8b

    tidegate compare results/one results/other --format csv > differences.csv
    """
    from tidegate.comparing import compare_results, grid
    from tidegate.show import rich_table

    a, b = _single(result), _single(other)
    folders = result.resolve().name, other.resolve().name
    names = folders if a.kind == b.kind and a.scenario.name == b.scenario.name else None
    both = compare_results(a, b, names=names)
    for line in [] if quiet else _warnings(both):
        remark(line)
    files = _draw(both, out, Path("results") / "--".join(folders), quiet=quiet)
    if shape is Format.json:
        print_json(_json(both, files))
    elif shape is Format.csv:
        content = both.table()
        print_csv(content.column_names, [list(row.values()) for row in content.to_pylist()])
    else:
        print_tables([rich_table(grid(both))])
        typer.echo("mean ± 95 % confidence; differences with Welch's interval")
        for path in files:
            typer.echo(f"figure: {path}")


def _single(folder: Path) -> Result:
    from tidegate.result import Result
    from tidegate.store import load, read_manifest

    kept = load(folder)
    if isinstance(kept, Result):
        return kept
    places = [f"{folder / v['folder']} ({v['name']})" for v in read_manifest(folder)["variants"]]
    raise UsageError(f"{folder} has variants; name one of: {', '.join(places)}")


def _warnings(both: SideBySide) -> list[str]:
    (first, a), (second, b) = both.results.items()
    lines = []
    if a.hash != b.hash:
        lines.append(f"the scenarios differ, {first} against {second}:")
        lines += [f"  {key}: {left} | {right}" for key, left, right in both.settings]
    lines += [
        f"{name}: {len(kept.invalid)} of {kept.replications} runs are invalid and do not count"
        for name, kept in both.results.items() if kept.invalid
    ]  # fmt: skip
    return lines


def _draw(both: SideBySide, out: Path | None, default: Path, *, quiet: bool) -> list[Path]:
    """Nobody asked for the default folder, so failing there is no error."""
    try:
        return both.plot(out or default)
    except ResultError as error:
        if out:
            raise
        if not quiet:
            remark(f"not drawn: {error}")
        return []


def _json(both: SideBySide, files: list[Path]) -> dict[str, object]:
    about = {
        side: {
            "name": name, "kind": kept.kind, "scenario": kept.scenario.name, "hash": kept.hash,
            "runs": kept.replications, "valid_runs": kept.averaged.replications,
        }
        for side, (name, kept) in zip("ab", both.results.items(), strict=True)
    }  # fmt: skip
    settings = [{"key": key, "a": left, "b": right} for key, left, right in both.settings]
    return {
        **about,
        "settings": settings,
        "differences": both.table().to_pylist(),
        "figures": [str(path) for path in files],
    }
