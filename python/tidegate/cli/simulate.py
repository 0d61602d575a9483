"""`tidegate simulate`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tidegate.cli.common import (
    Add,
    Against,
    AtMost,
    Engine,
    FigureFont,
    Figures,
    FigureWidth,
    Format,
    Jobs,
    Only,
    Out,
    Place,
    Quiet,
    Replications,
    Save,
    Scheduler,
    Seed,
    Set,
    Shape,
    ShowProgress,
    With,
    changes,
    command,
    executor,
    figure_output,
    overrides,
    print_settled,
    print_warnings,
    print_warnings_of_variants,
    progress_of,
)
from tidegate.cli.common import Until as UntilOption
from tidegate.cli.endings import MISSED, eprint
from tidegate.cli.outcome import check_keeping, present

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tidegate.analysis.theory import Theory
    from tidegate.results.result import Result
    from tidegate.runs.precision import Until


@command
def simulate(
    scenario: Annotated[
        Path,
        typer.Argument(
            help="Scenario file, or the name of one that comes with tidegate.", show_default=False
        ),
    ],
    set_: Set = None,
    add: Add = None,
    against: Against = None,
    with_: With = None,
    only: Only = None,
    seed: Seed = None,
    replications: Replications = None,
    until: UntilOption = None,
    at_most: AtMost = None,
    jobs: Jobs = None,
    engine: Engine = Place.threads,
    scheduler: Scheduler = None,
    out: Out = None,
    save: Save = True,
    plot: Annotated[bool, typer.Option("--plot", help="Also draw figures there.")] = False,
    figures: Figures = None,
    figure_width: FigureWidth = None,
    figure_font: FigureFont = None,
    theory: Annotated[
        bool, typer.Option("--theory", help="Also print and draw what analytical models predict.")
    ] = False,
    shape: Shape = Format.table,
    progress: ShowProgress = False,
    quiet: Quiet = False,
) -> None:
    """Simulate a scenario packet by packet and report throughput by group.

    For example:

    tidegate simulate evening-peak --plot

    tidegate simulate scenarios/evening-peak.toml --set users.heavy.flows=20 -r 50

    tidegate simulate scenarios/evening-peak.toml --until "throughput_bps 2 %"

    tidegate simulate scenarios/evening-peak.toml --against bottleneck.differentiation.kind=none

    tidegate simulate scenarios/evening-peak.toml --with fq-codel --with abc-red

    tidegate simulate scenarios/evening-peak.toml --format json | jq .runs

    tidegate simulate scenarios/parking-lot.toml --theory
    """
    from tidegate.runs.precision import until_of
    from tidegate.runs.simulation import seeds_of, simulate_all
    from tidegate.scenarios.reading import parse
    from tidegate.scenarios.variants import variants_of

    given = changes(set_, add)
    base = parse(scenario, given)
    if not quiet:
        print_warnings(scenario, base)
        print_settled(scenario, base, given)
    if base.points() and not quiet:
        eprint(
            f"{scenario} has a [sweep]; this is its base alone, `tidegate sweep` runs all points"
        )
    scenarios = variants_of(
        scenario, given, against=overrides(against, "--against"), mechanisms=with_ or (),
        only=only or (),
    )  # fmt: skip
    if not quiet:
        print_warnings_of_variants(scenario, base, scenarios)
    enough = until_of(until, replications, base.replications, at_most)
    # The place must do for as many as there may be.
    most = enough.at_most if enough else replications
    seeds = {name: seeds_of(one, seed, most) for name, one in scenarios.items()}
    output = figure_output(figures, figure_width, figure_font, plot=plot)
    plot = plot or output is not None
    check_keeping(scenarios, seeds, "simulation", out=out, keep=save, plot=plot)
    with executor(engine, scheduler, jobs) as where:
        results = simulate_all(
            scenarios, seed=seed, replications=replications, until=until, at_most=at_most,
            progress=progress_of(lines=progress, quiet=quiet),
            executor=where,
        )  # fmt: skip
    if not quiet:
        _left_empty_handed(results)
        _doubtful(results)
    theories = _theories(results) if theory else None
    present(
        results,
        out=out,
        keep=save,
        plot=plot,
        shape=shape,
        quiet=quiet,
        theories=theories,
        output=output,
    )
    if enough:
        _imprecise(results, enough)


def _theories(results: Mapping[str, Result]) -> dict[str, Theory]:
    """Return the predictions for each variant, or why there are none."""
    from tidegate.analysis.theory import theory_or_why

    found = {}
    for name, result in results.items():
        one = theory_or_why(result.scenario)
        variant = f"{name}: " if name else ""
        if isinstance(one, str):
            eprint(f"{variant}nothing is predicted: {one}")
            continue
        found[name] = one
        for warning in one.warnings:
            eprint(f"{variant}warning: {warning}")
    return found


def _imprecise(results: Mapping[str, Result], enough: Until) -> None:
    """Report metrics whose interval is still too wide, and end with exit code 5."""
    from tidegate.results.summary import rows

    missed = False
    for name, result in results.items():
        for target, row in enough.lacking(rows(result.tables)):
            variant = f"{name}: " if name else ""
            eprint(f"{variant}after {result.replications} runs, {target.shortfall(row)}")
            missed = True
    if missed:
        raise typer.Exit(MISSED)


def _doubtful(results: Mapping[str, Result]) -> None:
    """Warn of what makes the numbers doubtful."""
    from tidegate.results.findings import warnings

    for name, result in results.items():
        for text in warnings(result):
            eprint(f"warning: {name}: {text}" if name else f"warning: {text}")


def _left_empty_handed(results: Mapping[str, Result]) -> None:
    """Warn of groups that received nothing in any run."""
    for name, result in results.items():
        groups = result.groups.select(["group", "throughput_bps"]).to_pylist()
        got = {row["group"] for row in groups if row["throughput_bps"] > 0}
        for group in result.scenario.groups:
            if group not in got:
                variant = f"{name}: " if name else ""
                eprint(f"warning: {variant}users.{group} got nothing, 0 b/s in every run")
