"""`tidegate capture`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from tidegate.cli.common import (
    Add,
    Format,
    Quiet,
    Seed,
    Set,
    Shape,
    changes,
    command,
    print_base_alone,
    print_csv,
    print_json,
    print_warnings,
    say,
)
from tidegate.cli.endings import eprint
from tidegate.escapes import one_line


@command
def capture(
    scenario: Annotated[Path, typer.Argument(help="Scenario file.", show_default=False)],
    link: Annotated[
        list[str] | None,
        typer.Option(
            "--link",
            "-l",
            metavar="NAME",
            help="Link whose packets are written, such as bottleneck.reverse (repeatable);"
            " default: the first bottleneck.",
        ),
    ] = None,
    set_: Set = None,
    add: Add = None,
    seed: Seed = None,
    packets: Annotated[
        int, typer.Option(min=1, max=1_000_000_000, help="Limit on the packets of a file.")
    ] = 1_000_000,
    table: Annotated[
        bool,
        typer.Option("--parquet", help="Also write the packets as a table, SCENARIO.LINK.parquet."),
    ] = False,
    qlog: Annotated[
        list[str] | None,
        typer.Option(
            "--qlog",
            metavar="FLOW",
            help="Flow such as heavy.0.2 (group, user, flow) whose events at the sender are"
            " written as qlog, SCENARIO.FLOW.sqlog (repeatable).",
        ),
    ] = None,
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Folder of the files, SCENARIO.LINK.pcap.")
    ] = Path(),
    shape: Shape = Format.table,
    quiet: Quiet = False,
) -> None:
    """Simulate a scenario once, and write the packets that leave a link as a capture file.

    Wireshark, tshark and tcpdump read it: sequence and acknowledgement numbers, SACK blocks,
    timestamps, ECN and AccECN are those of the simulated TCP. Payload is left out.

    For example:

    tidegate capture scenarios/evening-peak.toml

    tidegate capture scenarios/evening-peak.toml --link bottleneck --link bottleneck.reverse

    tshark -r evening-peak.bottleneck.pcap -z conv,tcp -q
    """
    from tidegate.runs.captures import capture as write
    from tidegate.scenarios.reading import parse

    read = parse(scenario, changes(set_, add))
    if not quiet:
        print_warnings(scenario, read)
        print_base_alone(scenario, read)
    captures = write(
        read, links=link or (), seed=seed, packets=packets, table=table, qlog=qlog or (), out=out
    )
    rows = [
        {**asdict(one), "path": str(one.path), "table": one.table and str(one.table)}
        for one in captures
    ]
    if shape is Format.json:
        print_json(rows)
    elif shape is Format.csv:
        print_csv(list(rows[0]), [list(row.values()) for row in rows])
    else:
        for one in captures:
            where = f"packets that left {one_line(one.link)}"
            what = f"events at the sender of {one_line(one.flow)}" if one.flow else where
            say(f"{one_line(one.path)}: {one.packets:,} {what}")
            if one.table:
                say(f"{one_line(one.table)}: the same as a table")
        say(f"digest {captures[0].digest}")
    if not quiet:
        for one in captures:
            if one.beyond_limit:
                eprint(
                    f"{one_line(one.link)}: {one.beyond_limit:,} later packets are not in the file;"
                    f" --packets {one.packets + one.beyond_limit} takes all"
                )
        if captures[0].in_tunnels:
            eprint(f"{captures[0].in_tunnels:,} packets in tunnels are left out")
