"""Output and result folders of `simulate` and `lab`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidegate.cli.common import Format, print_csv, print_json, print_tables, say, typed
from tidegate.cli.endings import eprint
from tidegate.errors import ResultError, UsageError
from tidegate.escapes import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tidegate._native import Scenario
    from tidegate.analysis.theory import Predictions, Theory
    from tidegate.figures.output import Output
    from tidegate.results.result import Result


def check_keeping(
    scenarios: Mapping[str, Scenario],
    seeds: Mapping[str, Iterable[int]],
    kind: str,
    *,
    out: str | None,
    keep: bool,
    plot: bool,
) -> None:
    """Check before any run that the result can be written."""
    from tidegate.results.places import check_place, planned_runs

    if not keep and (plot or typed(out)):
        option = "--plot draws into" if plot else "--out names"
        raise UsageError(
            f"{option} the result folder, which --no-save leaves out: drop one of them"
        )
    if keep and out:
        check_place(Path(out), planned_runs(scenarios, seeds, kind))


def present(
    results: Mapping[str, Result],
    *,
    out: str | None,
    keep: bool,
    plot: bool,
    shape: Format,
    quiet: bool,
    theories: Mapping[str, Theory] | None = None,
    output: Output | None = None,
) -> None:
    """Write the result folder if asked for, then print the results and their paths."""
    folder, failure = None, None
    files: list[Path] = []
    try:
        if keep:
            folder = _save(results, out)
            files = _draw(results, folder, theories, output) if plot else []
    except ResultError as error:
        failure = error  # what was computed is printed all the same
    if shape is Format.json:
        place = {"folder": str(folder) if folder else None, "figures": list(map(str, files))}
        print_json({**_json(results, theories), **place})
    elif shape is Format.csv:
        _print_csv(results, theories)
    else:
        _print_tables(results, folder, theories)
    if folder and shape is not Format.table and not quiet:
        eprint(saved(folder, files))
    if failure:
        raise ResultError(f"{'not drawn' if folder else 'not saved'}: {failure}") from failure


def saved(folder: Path, files: Iterable[Path]) -> str:
    """Return a line with the paths of results and figures."""
    names = ", ".join(path.name for path in files)
    return f"results in {one_line(folder)}" + (f": {names}" if names else "")


def _save(results: Mapping[str, Result], out: str | None) -> Path:
    from tidegate.results.store import default_folder, hand_over, save

    folder = save(results, Path(out) if out else default_folder(results))
    hand_over(folder)
    return folder


def _draw(
    results: Mapping[str, Result],
    folder: Path,
    theories: Mapping[str, Theory] | None,
    output: Output | None,
) -> list[Path]:
    from tidegate.figures.results import draw
    from tidegate.results.store import hand_over

    files = draw(results, folder, _predicted(theories), output)
    hand_over(folder)
    return files


def _print_tables(
    results: Mapping[str, Result], folder: Path | None, theories: Mapping[str, Theory] | None
) -> None:
    from tidegate.results.show import predicted_table, rich_tables

    first = next(iter(results.values()))
    count = first.replications
    runs = f"mean of {count} runs ± 95 % confidence" if count > 1 else "one run"
    if len({result.replications for result in results.values()}) > 1:
        runs = "means of as many runs as each variant has ± 95 % confidence"
    times = {_measured(result) for result in results.values()}
    measured = times.pop() if len(times) == 1 else "measured as long as each variant says"
    origin = _kernel(first) if first.kind == "lab" else f"first digest {_digests(results)}"
    say(f"{one_line(first.scenario.name)}: {runs}; {measured}; {origin}\n")
    print_tables(rich_tables(results, narrow=sys.stdout.isatty()))
    if theories:
        print_tables([predicted_table(results, _predicted(theories))])
        for model in sorted({one.model for one in theories.values()}):
            say(f"predicted by: {model}")
    for line in timing_lines(results):
        say(line)
    if folder:
        drawn = [path for path in folder.iterdir() if path.suffix in {".png", ".svg", ".pdf"}]
        say(saved(folder, sorted(drawn)))


def timing_lines(results: Mapping[str, Result]) -> list[str]:
    """Return how well the machine kept up with runs of the lab; nothing for simulations."""
    lines = []
    for name, result in results.items():
        variant = f"{one_line(name)}: " if name else ""
        if result.lab is None:
            continue
        late = [row["lateness_p99_s"] for row in result.lab.to_pylist() if row["valid"]]
        known = [value for value in late if value is not None]
        if known:
            busy = max(row["busy_share"] for row in result.lab.to_pylist())
            lines.append(
                f"{variant}99 % of the packets left within {max(known) * 1e6:.0f} µs of their time;"
                f" {_whose(result)} {100 * busy:.0f} % busy"
            )
        differing = result.lab["deviations"][0].as_py()
        if differing:
            lines.append(
                f"{variant}where this kernel differs from the scenario: {one_line(differing)}"
            )
        if result.invalid:
            lines.append(
                f"{variant}{len(result.invalid)} of {result.replications} runs invalid, "
                "the machine could not keep up; they are kept and not averaged:"
            )
            lines += [f"  seed {seed}: {one_line(reasons)}" for seed, reasons in result.invalid]
    return lines


def _digests(results: Mapping[str, Result]) -> str:
    return " ".join(digest for result in results.values() for _, digest in result.digests[:1])


def _kernel(result: Result) -> str:
    row = result.lab.to_pylist()[0] if result.lab is not None else {}
    qemu = f", in virtual time by qemu {row['qemu']}" if row.get("qemu") else ""
    return f"on Linux {row.get('kernel')} with IPv{row.get('ip')}{qemu}"


def _whose(result: Result) -> str:
    in_guest = result.lab is not None and any(result.lab["qemu"].to_pylist())
    return "the guest's processor was" if in_guest else "the machine's processors were"


def _measured(result: Result) -> str:
    return f"{result.scenario.duration_s:g} s measured after {result.scenario.warm_up_s:g} s"


def _json(
    results: Mapping[str, Result], theories: Mapping[str, Theory] | None
) -> dict[str, object]:
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
        {**({"variant": name} if several else {}), **row, **_beside(row, name, theories)}
        for name, result in results.items()
        for row in result.summary().to_pylist()
    ]
    models = {name: one.to_dict() for name, one in (theories or {}).items()}
    theory = {} if theories is None else {"theory": models if several else models.get("")}
    return {"scenario": about, **theory, "runs": runs, "summary": summary}


def _predicted(theories: Mapping[str, Theory] | None) -> dict[str, Predictions]:
    return {name: one.predicted for name, one in (theories or {}).items()}


def _beside(
    row: Mapping[str, Any], variant: str, theories: Mapping[str, Theory] | None
) -> dict[str, float | str | None]:
    """Return a row's prediction, its relative deviation, and warnings."""
    if theories is None:
        return {}
    from tidegate.analysis.theory import deviation

    predicted = _predicted(theories).get(variant, {}).get((row["kind"], row["name"], row["metric"]))
    if predicted is None:
        return {"predicted": None, "deviation": None, "warning": None}
    warning = "; ".join(theories[variant].warnings) or None
    return {
        "predicted": predicted,
        "deviation": deviation(row["mean"], predicted),
        "warning": warning,
    }


def _runs(result: Result) -> list[dict[str, object]]:
    if result.lab is None:
        return [{"seed": seed, "digest": digest} for seed, digest in result.digests]
    rows: list[dict[str, object]] = result.lab.to_pylist()
    return rows


def _print_csv(results: Mapping[str, Result], theories: Mapping[str, Theory] | None) -> None:
    from tidegate.results.summary import Row, rows

    several = len(results) > 1
    body = [
        [*([name] if several else []), *row, *_beside(row._asdict(), name, theories).values()]
        for name, result in results.items()
        for row in rows(result.averaged.tables)
    ]
    more = [] if theories is None else ["predicted", "deviation", "warning"]
    print_csv([*(["variant"] if several else []), *Row._fields, *more], body)
