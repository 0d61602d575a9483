"""What `simulate` and `lab` print and keep."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from tidegate.cli.common import Format, print_csv, print_json, print_tables, remark
from tidegate.errors import ResultError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tidegate.result import Result


def present(
    results: Mapping[str, Result],
    *,
    out: str | None,
    keep: bool,
    plot: bool,
    shape: Format,
    quiet: bool,
) -> None:
    """Write the result folder where wanted, and print."""
    folder = _save(results, out, plot=plot, quiet=quiet) if keep or out or plot else None
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
    from tidegate.store import default_folder, hand_over, save

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
    hand_over(folder)
    return folder


def _print_tables(results: Mapping[str, Result], folder: Path | None) -> None:
    from tidegate.show import rich_tables

    first = next(iter(results.values()))
    count = first.replications
    runs = f"mean of {count} runs ± 95 % confidence" if count > 1 else "one run"
    origin = _kernel(first) if first.kind == "lab" else f"first digest {_digests(results)}"
    typer.echo(f"{first.scenario.name}: {runs}; {_measured(first)}; {origin}\n")
    print_tables(rich_tables(results, narrow=sys.stdout.isatty()))
    for line in honesty(results):
        typer.echo(line)
    if folder:
        figures = sorted(path.name for path in folder.glob("*.png"))
        typer.echo(f"results in {folder}" + (f": {', '.join(figures)}" if figures else ""))


def honesty(results: Mapping[str, Result]) -> list[str]:
    """How well the machine kept up with a lab's runs; nothing to say of simulations."""
    lines = []
    for name, result in results.items():
        variant = f"{name}: " if name else ""
        if result.lab is None:
            continue
        late = [row["lateness_p99_s"] for row in result.lab.to_pylist() if row["valid"]]
        known = [value for value in late if value is not None]
        if known:
            busy = max(row["busy_share"] for row in result.lab.to_pylist())
            lines.append(
                f"{variant}99 % of the packets left within {max(known) * 1e6:.0f} µs of their time;"
                f" the machine's processors were {100 * busy:.0f} % busy"
            )
        differing = result.lab["deviations"][0].as_py()
        if differing:
            lines.append(f"{variant}where this kernel differs from the scenario: {differing}")
        if result.invalid:
            lines.append(
                f"{variant}{len(result.invalid)} of {result.replications} runs invalid, "
                "the machine could not keep up; they are kept and not averaged:"
            )
            lines += [f"  seed {seed}: {reasons}" for seed, reasons in result.invalid]
    return lines


def _digests(results: Mapping[str, Result]) -> str:
    return " ".join(digest for result in results.values() for _, digest in result.digests[:1])


def _kernel(result: Result) -> str:
    row = result.lab.to_pylist()[0] if result.lab is not None else {}
    return f"on Linux {row.get('kernel')} with IPv{row.get('ip')}"


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
        {**({"variant": name} if several else {}), **run}
        for name, result in results.items()
        for run in _runs(result)
    ]
    summary = [
        {**({"variant": name} if several else {}), **row}
        for name, result in results.items()
        for row in result.summary().to_pylist()
    ]
    return {"scenario": about, "runs": runs, "summary": summary}


def _runs(result: Result) -> list[dict[str, object]]:
    if result.lab is None:
        return [{"seed": seed, "digest": digest} for seed, digest in result.digests]
    rows: list[dict[str, object]] = result.lab.to_pylist()
    return rows


def _print_csv(results: Mapping[str, Result]) -> None:
    from tidegate.summary import Row, rows

    several = len(results) > 1
    body = [
        [*([name] if several else []), *row]
        for name, result in results.items()
        for row in rows(result.averaged.tables)
    ]
    print_csv([*(["variant"] if several else []), *Row._fields], body)
