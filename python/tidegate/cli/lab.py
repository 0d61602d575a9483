"""`tidegate lab`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tidegate.cli.common import (
    Add,
    Against,
    FigureFont,
    Figures,
    FigureWidth,
    Format,
    Only,
    Out,
    Quiet,
    Save,
    Seed,
    Set,
    Shape,
    With,
    changes,
    command,
    figure_output,
    overrides,
    print_settled,
    print_warnings,
    print_warnings_of_variants,
    say,
)
from tidegate.cli.endings import eprint
from tidegate.cli.outcome import check_keeping, present
from tidegate.errors import MissingError, OverloadError, UsageError
from tidegate.runs.execution import MAX_JOBS, MAX_REPLICATIONS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tidegate._native import Scenario

Replications = Annotated[
    int | None,
    typer.Option(
        "--replications", "-r", min=1, max=MAX_REPLICATIONS,
        help="Number of runs; default: as in the scenario, at most 5. Runs take real time.",
    ),
]  # fmt: skip
Jobs = Annotated[
    int,
    typer.Option(
        "--jobs", "-j", min=1, max=MAX_JOBS,
        help="Number of simultaneous runs; use more than 1 only if cores are idle.",
    ),
]  # fmt: skip


@command
def lab(
    scenario: Annotated[
        Path | None, typer.Argument(help="Scenario file.", show_default=False)
    ] = None,
    set_: Set = None,
    add: Add = None,
    against: Against = None,
    with_: With = None,
    only: Only = None,
    seed: Seed = None,
    replications: Replications = None,
    jobs: Jobs = 1,
    ip: Annotated[int, typer.Option("--ip", min=4, max=6, help="IP version, 4 or 6.")] = 4,
    generator: Annotated[str, typer.Option(metavar="own|iperf3", help="Load generator.")] = "own",
    kernel: Annotated[
        str | None,
        typer.Option(
            metavar="SERIES|auto",
            help="Stock kernel in virtual time, such as 6.12. Needs no root."
            " With --check also all.",
        ),
    ] = None,
    check: Annotated[
        bool,
        typer.Option(
            "--check",
            help="Only report what is missing on this machine (for the scenario, if named).",
        ),
    ] = False,
    out: Out = None,
    save: Save = True,
    plot: Annotated[bool, typer.Option("--plot", help="Also draw figures there.")] = False,
    figures: Figures = None,
    figure_width: FigureWidth = None,
    figure_font: FigureFont = None,
    shape: Shape = Format.table,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Print how to enter the hosts during the run.")
    ] = False,
    quiet: Quiet = False,
) -> None:
    """Run a scenario with the TCP of this Linux kernel and report throughput by group.

    Hosts are network namespaces, the bottleneck is tidegate's. A run takes as long as the scenario
    says, so that by default there are at most 5. Needs root; leaves nothing behind. With --kernel a
    stock kernel runs in virtual time, without root.

    For example:

    sudo .venv/bin/tidegate lab scenarios/evening-peak.toml -r 2

    tidegate lab scenarios/evening-peak.toml -r 2 --kernel 6.12

    tidegate lab --check

    tidegate lab scenarios/evening-peak.toml --against bottleneck.differentiation.kind=none --plot
    """
    from tidegate.laboratory.running import (
        check_options,
        check_scenarios,
        lab_all,
        seeds_in_lab,
    )
    from tidegate.scenarios.reading import parse
    from tidegate.scenarios.variants import variants_of

    check_options(ip, generator)
    if check:
        named = None if scenario is None else parse(scenario, changes(set_, add))
        _check(named, ip=ip, generator=generator, kernel=kernel, quiet=quiet)
        return
    if scenario is None:
        raise UsageError("name a scenario file; --check alone needs none")
    given = changes(set_, add)
    base = parse(scenario, given)
    if not quiet:
        print_warnings(scenario, base)
        print_settled(scenario, base, given)
    if base.points() and not quiet:
        eprint(f"{scenario} has a [sweep]; this is its base alone")
    scenarios = variants_of(
        scenario, given, against=overrides(against, "--against"), mechanisms=with_ or (),
        only=only or (),
    )  # fmt: skip
    if not quiet:
        print_warnings_of_variants(scenario, base, scenarios)
    differing = check_scenarios(scenarios, ip=ip, generator=generator)
    if not quiet:
        for name, deviations in differing.items():
            of_which = f"{name}: " if name else ""
            for line in deviations:
                eprint(f"{scenario}: warning: {of_which}on a kernel, {line}")
    seeds = seeds_in_lab(scenarios, seed, replications)
    output = figure_output(figures, figure_width, figure_font, plot=plot)
    plot = plot or output is not None
    check_keeping(scenarios, seeds, "lab", out=out, keep=save, plot=plot)
    if not quiet:
        eprint(_expectation(scenarios, seed, replications, None if kernel else jobs))
    results = lab_all(
        scenarios, seed=seed, replications=replications, jobs=jobs, ip=ip, generator=generator,
        progress=not quiet, verbose=verbose, kernel=kernel,
    )  # fmt: skip
    present(results, out=out, keep=save, plot=plot, shape=shape, quiet=quiet, output=output)
    if not all(result.averaged.replications for result in results.values()):
        raise OverloadError("the machine could not keep up with any run, so there is no result")


def _expectation(
    scenarios: Mapping[str, Scenario], seed: int | None, replications: int | None, jobs: int | None
) -> str:
    """Return how many runs there will be and how long they will take; no jobs: in virtual time."""
    from tidegate.laboratory.running import expected_wall_s, tasks_of, whole_s

    tasks = tasks_of(scenarios, seed, replications)
    each = max(whole_s(scenarios[name]) for name, _ in tasks)
    count = f"{len(tasks)} run{'s' * (len(tasks) != 1)} of {each:g} s"
    if jobs is None:
        return f"{count} in virtual time"
    minutes, seconds = divmod(round(expected_wall_s(scenarios, tasks, jobs)), 60)
    return f"{count}: about {minutes} min {seconds:02} s" if minutes else f"{count}"


def _check(
    scenario: Scenario | None, *, ip: int, generator: str, kernel: str | None, quiet: bool
) -> None:
    """Print whether the lab can run, here or on stock kernels."""
    from tidegate.laboratory import bpf, guest
    from tidegate.laboratory.process import PROGRAM, find, missing, state
    from tidegate.laboratory.running import check_scenarios

    if scenario is not None:
        check_scenarios({"": scenario}, ip=ip, generator=generator)
    if kernel == "all":
        _print_kernels(quiet=quiet)
        return
    stock = None if kernel is None else guest.chosen(kernel)
    lacking = missing(generator=generator, kernel=stock)
    if scenario is not None and stock is None and bpf.needed([scenario]):
        lacking += bpf.missing()
    if lacking:
        raise MissingError(lacking)
    say("the lab can run here")
    if stock is None:
        for line in bpf.exposure(state(find() or PROGRAM)):
            say(line)


def _print_kernels(*, quiet: bool) -> None:
    """Boot every stock kernel and print what it can do."""
    from tidegate.laboratory import guest
    from tidegate.laboratory.process import Children, missing

    known = guest.kernels()
    lacking = guest.missing() + missing(kernel=guest.chosen("auto"))
    if lacking:
        raise MissingError(sorted(set(lacking)))
    children = Children()
    try:
        for kernel in known:
            if not quiet:
                eprint(f"booting Linux {kernel.release}")
            for line in guest.abilities(kernel, children).lines():
                say(line)
    finally:
        children.stop()
