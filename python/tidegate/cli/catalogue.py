"""`tidegate list`, `validate` and `schema`."""

from __future__ import annotations

from dataclasses import asdict
from difflib import get_close_matches
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
from tidegate.cli.endings import remark
from tidegate.errors import Diagnostic, ScenarioError, UsageError
from tidegate.escapes import one_line

if TYPE_CHECKING:
    from tidegate.scenarios.mechanisms import Mechanism


@command
def list_mechanisms(
    mechanism: Annotated[
        str | None, typer.Argument(help="Only this one, with its parameters.")
    ] = None,
    shape: Shape = Format.table,
) -> None:
    """List the mechanisms, or one with its parameters, defaults, units and source.

    **Examples**

    tidegate list

    tidegate list abc
    """
    from tidegate import _native

    entries = _native.mechanisms()
    if mechanism is not None:
        entries = [_find(entries, mechanism)]
    if shape is Format.json:
        print_json(entries[0] if mechanism is not None else entries)
    elif shape is Format.csv:
        _list_csv(entries, detailed=mechanism is not None)
    elif mechanism is not None:
        _print_one(entries[0])
    else:
        _print_all(entries)


@command
def validate(
    scenarios: Annotated[list[Path], typer.Argument(help="Scenario files.")],
    set_: Set = None,
    add: Add = None,
    shape: Shape = Format.table,
) -> None:
    """Check scenario files without running them; all errors are reported together.

    **Example**

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
                remark(f"{one_line(path)}: {warning}{issue['text']}")
    names = ["file", "severity", "line", "column", "key", "message", "suggestion"]
    if shape is Format.json:
        print_json(found)
    elif shape is Format.csv:
        print_csv(names, [[issue[name] for name in names] for issue in found])
    if any(issue["severity"] == "error" for issue in found):
        raise typer.Exit(ScenarioError.exit_code)


def _judged(path: Path, given: list[tuple[str, str]]) -> list[dict[str, object]]:
    """Everything there is to say about a file, each with how much it weighs."""
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

    **Example**

    tidegate schema > scenario.schema.json
    """
    from tidegate import _native

    say(_native.schema())


def _find(entries: list[Mechanism], name: str) -> Mechanism:
    for entry in entries:
        if entry["name"] == name:
            return entry
    near = get_close_matches(name, [entry["name"] for entry in entries], n=1)
    hint = f"; did you mean {near[0]}?" if near else "; `tidegate list` names them"
    raise UsageError(f"there is no mechanism {name!r}{hint}")


def _print_all(entries: list[Mechanism]) -> None:
    from tidegate.results.show import Grid, rich_table

    grid = Grid("Mechanisms", ["category", "name", "title", "source"], text_columns=4)
    category = None
    for entry in entries:
        first = entry["category"] if entry["category"] != category else ""
        grid.cells.append([first, entry["name"], entry["title"], entry["source"]])
        category = entry["category"]
    print_tables([rich_table(grid)])


def _print_one(entry: Mechanism) -> None:
    from tidegate.results.show import Grid, rich_table

    say(f"{entry['name']}: {entry['title']}\n{entry['source']}\n")
    say(f"{entry['usage']}\n")
    grid = Grid("Parameters", ["name", "default", "unit", "meaning"], text_columns=4)
    grid.cells = [[p["name"], p["default"], p["unit"], p["meaning"]] for p in entry["parameters"]]
    if grid.cells:
        print_tables([rich_table(grid)])
    from rich.markdown import Markdown

    stdout_console().print(Markdown(entry["header"]), width=100)


def _list_csv(entries: list[Mechanism], *, detailed: bool) -> None:
    if detailed:
        parameters = entries[0]["parameters"]
        rows = [[p["name"], p["default"], p["unit"], p["meaning"]] for p in parameters]
        print_csv(["name", "default", "unit", "meaning"], rows)
    else:
        rows = [[e["category"], e["name"], e["title"], e["source"]] for e in entries]
        print_csv(["category", "name", "title", "source"], rows)
