"""`tidegate simulate`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tidegate.cli.common import (
    Format,
    Jobs,
    Out,
    Quiet,
    Replications,
    Seed,
    Set,
    Shape,
    command,
    overrides,
    print_csv,
    print_json,
    print_tables,
    remark,
)
from tidegate.errors import ResultError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tidegate.result import Result

Against = Annotated[
    list[str] | None,
    typer.Option(
        "--against",
        metavar="KEY=VALUE",
        help="Also simulate the scenario with this setting, and compare (repeatable).",
    ),
]


@command
def simulate(
    scenario: Annotated[Path, typer.Argument(help="Scenario file.", show_default=False)],
    set_: Set = None,
    against: Against = None,
    seed: Seed = None,
    replications: Replications = None,
    jobs: Jobs = None,
    out: Out = None,
    save: Annotated[bool, typer.Option(help="Write the result folder.")] = True,
    plot: Annotated[bool, typer.Option("--plot", help="Draw figures there, too.")] = False,
    shape: Shape = Format.table,
    quiet: Quiet = False,
) -> None:
    """Simulate a scenario, packet by packet, and tell who got what.

    **Examples**

    tidegate simulate scenarios/evening-peak.toml --plot

    tidegate simulate scenarios/evening-peak.toml --set users.heavy.flows=20 -r 50

    tidegate simulate scenarios/evening-peak.toml --against bottleneck.differentiation.kind=none

    tidegate simulate scenarios/evening-peak.toml --format json | jq .runs
    """
    from tidegate.scenario import parse
    from tidegate.simulation import name_variants, simulate_all

    given = overrides(set_)
    base = parse(scenario, given)
    if base.points() and not quiet:
        remark(
            f"{scenario} has a [sweep]; this is its base alone, `tidegate sweep` runs all points"
        )
    changes = overrides(against, "--against")
    variants = [(key, parse(scenario, [*given, (key, value)])) for key, value in changes]
    scenarios = name_variants(base, variants) if variants else {"": base}
    results = simulate_all(
        scenarios, seed=seed, replications=replications, jobs=jobs, progress=not quiet
    )
    folder = _save(results, out, plot=plot, quiet=quiet) if save or out or plot else None
    if shape is Format.json:
        print_json({**_json(results), "folder": str(folder) if folder else None})
    elif shape is Format.csv:
        _print_csv(results)
    else:
        _print_tables(results, folder)
    if folder and shape is not Format.table and not quiet:
        remark(f"results: {folder}")


def _save(
    results: Mapping[str, Result], out: str | None, *, plot: bool, quiet: bool
) -> Path | None:
    """Write the result folder. Nobody asked for the default one, so failing there is no error."""
    from tidegate.store import default_folder, save

    try:
        folder = save(results, Path(out) if out else default_folder(results))
    except ResultError as error:
        if out or plot:
            raise
        if not quiet:
            remark(f"not saved: {error}")
        return None
    if plot:
        from tidegate.plots import draw

        draw(results, folder)
    return folder


def _print_tables(results: Mapping[str, Result], folder: Path | None) -> None:
    from tidegate.show import rich_tables

    first = next(iter(results.values()))
    count = first.replications
    runs = f"mean of {count} runs ± 95 % confidence" if count > 1 else "one run"
    digests = " ".join(digest for result in results.values() for _, digest in result.digests[:1])
    typer.echo(f"{first.scenario.name}: {runs}; {_measured(first)}; first digest {digests}\n")
    print_tables(rich_tables(results, narrow=sys.stdout.isatty()))
    if folder:
        figures = sorted(path.name for path in folder.glob("*.png"))
        typer.echo(f"results in {folder}" + (f": {', '.join(figures)}" if figures else ""))


def _measured(result: Result) -> str:
    return f"{result.scenario.duration_s:g} s measured after {result.scenario.warm_up_s:g} s"


def _json(results: Mapping[str, Result]) -> dict[str, object]:
    first = next(iter(results.values()))
    several = len(results) > 1
    about = {
        "name": first.scenario.name,
        "hash": first.hash,
        "warm_up_s": first.scenario.warm_up_s,
        "duration_s": first.scenario.duration_s,
    }
    runs = [
        {**({"variant": name} if several else {}), "seed": seed, "digest": digest}
        for name, result in results.items()
        for seed, digest in result.digests
    ]
    summary = [
        {**({"variant": name} if several else {}), **row}
        for name, result in results.items()
        for row in result.summary().to_pylist()
    ]
    return {"scenario": about, "runs": runs, "summary": summary}


def _print_csv(results: Mapping[str, Result]) -> None:
    from tidegate.summary import Row, rows

    several = len(results) > 1
    body = [
        [*([name] if several else []), *row]
        for name, result in results.items()
        for row in rows(result.tables)
    ]
    print_csv([*(["variant"] if several else []), *Row._fields], body)
