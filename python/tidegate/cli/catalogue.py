"""`tidegate list`, `validate` and `schema`."""

from __future__ import annotations

from dataclasses import asdict
from difflib import get_close_matches
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tidegate.cli.common import (
    Add,
    Format,
    Set,
    Shape,
    changes,
    command,
    print_csv,
    print_json,
    print_tables,
    say,
    stdout_console,
)
from tidegate.cli.endings import eprint
from tidegate.errors import Diagnostic, ScenarioError, UsageError
from tidegate.escapes import one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tidegate.scenarios.mechanisms import Mechanism, TrafficKind

PARAMETER_COLUMNS = ("name", "default", "unit", "meaning")


@command
def list_mechanisms(
    name: Annotated[
        str | None,
        typer.Argument(
            help="A mechanism or a kind of traffic, with its parameters; or traffic, scenarios or "
            "league for a list of these."
        ),
    ] = None,
    shape: Shape = Format.table,
) -> None:
    """List mechanisms, kinds of traffic or shipped scenarios, or show the parameters of one.

    For example:

    tidegate list

    tidegate list abc

    tidegate list traffic

    tidegate list transfer

    tidegate list scenarios

    tidegate list league
    """
    from tidegate import _native

    mechanisms, traffic = _native.mechanisms(), _native.traffic()
    if name is None:
        _list_all(mechanisms, ["category", "name", "title", "source"], shape)
    elif name == "traffic":
        _list_all(traffic, ["name", "summary"], shape)
    elif name == "scenarios":
        _list_all(_scenarios(), ["name", "description"], shape)
    elif name == "league":
        _list_all(_league(), ["name", "title", "parameters"], shape)
    else:
        _list_one(_find([*mechanisms, *traffic], name), shape)


def _scenarios() -> list[dict[str, str]]:
    """Return name and description of each scenario that comes with tidegate."""
    from tidegate.data import data_folder
    from tidegate.scenarios.reading import load_scenario

    files = sorted(data_folder("scenarios").glob("*.toml"))
    return [
        {"name": file.stem, "description": load_scenario(file).description or ""} for file in files
    ]


def _league() -> list[dict[str, str]]:
    """Return name, title and parameters of each mechanism for ``--with``."""
    from tidegate.scenarios.variants import mechanisms_of_the_league

    return [
        {"name": name, "title": about["title"], "parameters": about["why"]}
        for name, about in mechanisms_of_the_league().items()
    ]


def _list_all(
    entries: Sequence[Mechanism | TrafficKind | dict[str, str]], columns: list[str], shape: Format
) -> None:
    rows = [[str(entry.get(column)) for column in columns] for entry in entries]
    if shape is Format.json:
        print_json(entries)
    elif shape is Format.csv:
        print_csv(columns, rows)
    else:
        _print_all(columns, rows)


def _list_one(entry: Mechanism | TrafficKind, shape: Format) -> None:
    if shape is Format.json:
        print_json(entry)
    elif shape is Format.csv:
        print_csv(list(PARAMETER_COLUMNS), _parameter_rows(entry))
    else:
        _print_one(entry)


@command
def validate(
    scenarios: Annotated[list[Path], typer.Argument(help="Scenario files.")],
    set_: Set = None,
    add: Add = None,
    shape: Shape = Format.table,
) -> None:
    """Check scenario files without running them; all errors are reported together.

    For example:

    tidegate validate scenarios/*.toml
    """
    given = changes(set_, add)
    found = []
    for path in scenarios:
        issues = _judged(path, given)
        found += issues
        if shape is Format.table:
            say(f"{one_line(path)}: {_verdict(issues)}")
            for issue in issues:
                warning = "warning: " if issue["severity"] == "warning" else ""
                eprint(f"{one_line(path)}: {warning}{issue['text']}")
    names = ["file", "severity", "line", "column", "key", "message", "suggestion"]
    if shape is Format.json:
        print_json(found)
    elif shape is Format.csv:
        print_csv(names, [[issue[name] for name in names] for issue in found])
    if any(issue["severity"] == "error" for issue in found):
        raise typer.Exit(ScenarioError.exit_code)


def _judged(path: Path, given: list[tuple[str, str]]) -> list[dict[str, object]]:
    """Return errors and warnings of a file, each with its severity."""
    from tidegate.scenarios.reading import parse

    try:
        parsed = parse(path, given)
    except ScenarioError as error:
        weighed = [("error", issue) for issue in error.issues]
    else:
        weighed = [("lab only", Diagnostic(*row)) for row in parsed.simulator_lacks()]
        weighed += [("warning", Diagnostic(*row)) for row in parsed.warnings()]
    return [
        {"file": str(path), "severity": severity, **asdict(issue)} for severity, issue in weighed
    ]


def _verdict(issues: list[dict[str, object]]) -> str:
    found = {issue["severity"] for issue in issues}
    if "error" in found:
        return "refused"
    return "valid, but for `tidegate lab` only" if "lab only" in found else "valid"


@command
def schema() -> None:
    """Print the JSON Schema of scenario files, for editors.

    For example:

    tidegate schema > scenario.schema.json
    """
    from tidegate import _native

    say(_native.schema())


def _find(entries: list[Mechanism | TrafficKind], name: str) -> Mechanism | TrafficKind:
    for entry in entries:
        if entry["name"] == name:
            return entry
    near = get_close_matches(name, [entry["name"] for entry in entries], n=1)
    hint = f"did you mean {near[0]}?" if near else "see `tidegate list` and `tidegate list traffic`"
    raise UsageError(f"there is no mechanism and no kind of traffic {name!r}; {hint}")


def _print_all(columns: list[str], rows: list[list[str]]) -> None:
    from tidegate.results.show import Grid, rich_table

    titles = {"source": "Mechanisms", "summary": "Traffic", "description": "Scenarios"}
    title = next((own for key, own in titles.items() if key in columns), "League")
    grid = Grid(title, columns, text_columns=len(columns))
    for above, row in pairwise([[""], *rows]):
        repeated = len(columns) > 2 and above[0] == row[0]
        grid.cells.append(["" if repeated else row[0], *row[1:]])
    print_tables([rich_table(grid)])


def _print_one(entry: Mechanism | TrafficKind) -> None:
    from rich.markdown import Markdown

    from tidegate.results.show import Grid, rich_table

    if "header" in entry:
        say(f"{entry['name']}: {entry['title']}\n{entry['source']}\n")
        say(f"{entry['usage']}\n")
    else:
        say(f"{entry['name']}: {entry['summary']}\n")
        say(f'users.NAME.traffic = {{ kind = "{entry["name"]}", ... }}\n')
    grid = Grid("Parameters", list(PARAMETER_COLUMNS), text_columns=4)
    grid.cells = _parameter_rows(entry)
    if grid.cells:
        print_tables([rich_table(grid)])
    if "header" in entry:
        stdout_console().print(Markdown(entry["header"]), width=100)


def _parameter_rows(entry: Mechanism | TrafficKind) -> list[list[str]]:
    return [[p["name"], p["default"], p["unit"], p["meaning"]] for p in entry["parameters"]]
