"""`tidegate choose`."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

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
    say,
)
from tidegate.errors import UsageError

if TYPE_CHECKING:
    from tidegate.analysis.choosing import Choice, Known


@command
def choose(
    scenario: Annotated[
        Path,
        typer.Argument(
            metavar="{scenario}", help="Scenario file, or the name of one that comes with tidegate."
        ),
    ],
    set_: Set = None,
    add: Add = None,
    flows: Annotated[
        float | None,
        typer.Option(min=1, metavar="N", help="Flows of a user on average; default: the file's."),
    ] = None,
    light_flows: Annotated[
        float | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Flows of a user who is not to be held back; default: those of a user in the "
            "middle.",
        ),
    ] = None,
    variants: Annotated[
        bool,
        typer.Option(
            "--variants",
            help="Print the scenario with a variant for each choice, for `tidegate simulate`.",
        ),
    ] = False,
    shape: Shape = Format.table,
) -> None:
    """Choose parameters for a link: ABC, a ConEx policer and a rate cap.

    They follow from the link's rate, its users, their flows and their round trip by a rule, which
    is a beginning: docs/how-to/choose.md says how well it does and where it fails.

    For example:

    tidegate choose evening-peak

    tidegate choose evening-peak --variants > chosen.toml && tidegate simulate chosen.toml

    tidegate choose scenarios/home-line.toml --flows 4 --light-flows 2
    """
    from tidegate.analysis.choosing import choose as chosen_for
    from tidegate.analysis.choosing import known_of
    from tidegate.analysis.choosing import variants as variants_of
    from tidegate.scenarios.reading import parse, text_of, toml_value

    settings = changes(set_, add)
    parsed = parse(scenario, settings)
    known = known_of(parsed)
    known = replace(known, flows=flows or known.flows, light_flows=light_flows or known.light_flows)
    choice = chosen_for(known)
    if variants:
        named = variants_of(parsed, choice)
        if twice := sorted({name for name, _ in parsed.variants()} & named.keys()):
            raise UsageError(f"the file has variants of these names: {', '.join(twice)}")
        parts = [parsed.to_toml() if settings else text_of(scenario)[0]]
        for name, keys in named.items():
            lines = [f"{key} = {toml_value(value)}" for key, value in keys.items()]
            parts.append("\n".join([f"[variants.{name}]", *lines]))
        text = "\n\n".join(part.strip() for part in parts)
        parse(text)
        say(text)
    else:
        _print(known, choice, shape)


def _print(known: Known, choice: Choice, shape: Format) -> None:
    if shape is Format.json:
        print_json({"known": asdict(known), "chosen": asdict(choice)})
        return
    if shape is Format.csv:
        row: dict[str, Any] = asdict(choice)
        print_csv(list(row), [list(row.values())])
        return
    say(
        f"{known.users} users of {known.flows:.3g} flows on average share "
        f"{_mbps(known.rate_bps)}: {_mbps(choice.share_bps)} each\n"
        f"round trip {1e3 * known.rtt_s:.3g} ms, and {1e3 * choice.queue_s:.3g} ms in the queue "
        "(RED, thresholds at 10 and 30 ms)\n"
    )
    margin = "no model applies" if choice.abc_margin is None else f"{choice.abc_margin:.3g}"
    say(
        f"ABC    reference rate {_mbps(choice.abc_reference_bps)}, gamma {choice.abc_gamma:g}, "
        f"inertia {1e3 * choice.abc_inertia_s:.0f} ms   (gain margin of users' activities: "
        f"{margin})"
    )
    say(
        f"ConEx  fill rate {choice.conex_fill_bps / 1e3:.3g} kb/s, depth "
        f"{choice.conex_depth_bytes / 1e3:.3g} kB   (a user with {known.light_flows:g} "
        f"{'flow' if known.light_flows == 1 else 'flows'} causes two thirds of it at an equal "
        "share)"
    )
    say(f"cap    {_mbps(choice.cap_bps)} for each user")


def _mbps(bps: float) -> str:
    return f"{bps / 1e6:.3g} Mb/s"
