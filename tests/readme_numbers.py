"""What README has to say in numbers, read off the pages that the measurements wrote.

A statement is README's own sentence with `{}` where its numbers stand. `make readme` writes the
numbers there that the pages have now.
"""

import re
from dataclasses import dataclass

from markdown_tables import row, table
from support import ROOT

ABC, CPQ = "studies/abc/RESULTS.md", "studies/cpq/RESULTS.md"
# The row of README's table of papers, and the pages whose counts it sums.
PAPERS = {
    "[Activity-based congestion management](studies/abc/RESULTS.md) (ABC)": (ABC,),
    "[Congestion policing queues](studies/cpq/RESULTS.md) (CPQ)": (CPQ,),
    "[ConEx](studies/conex/RESULTS.md)": ("studies/conex/RESULTS.md",),
    "[Metering re-ECN](studies/re-ecn/RESULTS.md)": ("studies/re-ecn/RESULTS.md",),
    "[Congestion pricing](studies/pricing/README.md)": tuple(
        f"studies/pricing/RESULTS{part}.md"
        for part in ("", "-chapters-4-5", "-parking-lot", "-chapter-6", "-chapter-7")
    ),
}
LAB_ABC, LAB_CPQ, LAB_MIXES, FIDELITY = (
    f"studies/fidelity/RESULTS{page}.md" for page in ("-abc", "-cpq", "-mixes", "")
)
LEAGUE, PERFORMANCE = "studies/league/RESULTS.md", "docs/performance.md"


@dataclass(frozen=True)
class Statement:
    source: str
    sentence: str
    values: tuple[str, ...]

    def pattern(self) -> re.Pattern[str]:
        """Finds the sentence however its lines are broken, and whatever its numbers are."""
        parts = [r"\s+".join(map(re.escape, part.split(" "))) for part in self.sentence.split("{}")]
        return re.compile(r"([^|]+?)".join(parts))

    def found(self, readme: str) -> re.Match[str]:
        matches = list(self.pattern().finditer(readme))
        assert len(matches) == 1, f"README has {len(matches)} times: {self.sentence}"
        return matches[0]

    def reported(self, readme: str) -> tuple[str, ...]:
        """The numbers that stand there."""
        return tuple(" ".join(group.split()) for group in self.found(readme).groups())

    def written(self, readme: str) -> str:
        """README with the numbers that should stand there."""
        match = self.found(readme)
        places = enumerate(zip(self.reported(readme), self.values, strict=True), start=1)
        for number, (reported, value) in reversed(list(places)):
            if reported != value:
                start, end = match.span(number)
                readme = readme[:start] + value + readme[end:]
        return readme


WITHOUT = "without the mechanism"
"""Heading of the pages' counts beside their plain baselines, and of README's column for them."""


def with_column(readme, pages_count_it):
    """README's table of papers with a column for what comes out without the mechanism.

    It comes with the pages: as soon as all of them count it, and not before.
    """
    if f"| {WITHOUT} |" in readme or not pages_count_it:
        return readme
    cells = {"| paper | numbers": f" {WITHOUT} ", **{f"| {name} |": " 0 of 0 " for name in PAPERS}}
    lines = readme.splitlines(keepends=True)
    for number, line in enumerate(lines):
        cell = next((one for start, one in cells.items() if line.startswith(start)), None)
        if cell is None and number and lines[number - 1].startswith("| paper | numbers"):
            cell = "---"
        if cell is not None:
            parts = line.split("|")
            lines[number] = "|".join([*parts[:4], cell, *parts[4:]])
    return "".join(lines)


def all_pages_count_it():
    pages = [page for pages in PAPERS.values() for page in pages]
    return all(f"| {WITHOUT} |" in (ROOT / page).read_text(encoding="utf-8") for page in pages)


def statements(evening):
    """All of them; `evening` is the comparison that `make run` makes."""
    return [
        *_evening_peak(evening), *_papers(), *_gamma(), _mixes(), *_fidelity(), _cpq(), _league(),
        _performance(),
    ]  # fmt: skip


def _evening_peak(evening):
    abc, none = (_group_means(result) for result in evening.values())
    rates = [
        one[group, "throughput_bps"] / 1e6 for one in (none, abc) for group in ("heavy", "light")
    ]
    uploads = [one["upload", "mean_completion_s"] for one in (abc, none)]
    times_as_much = rates[0] / rates[1]
    lost = abc["heavy", "loss_ratio"]
    source = "scenarios/evening-peak.toml"
    return [
        Statement(
            source,
            "takes {} Mb/s of a 10 Mb/s link and each of ten light users {}; "
            "with ABC it is {} and {}]",
            tuple(f"{rate:.2f}" for rate in rates),
        ),
        Statement(source, "the heavy user gets {} times as much", (f"{times_as_much:.0f}",)),
        Statement(
            source,
            "the upload takes {} s instead of {}.",
            tuple(f"{seconds:.0f}" for seconds in uploads),
        ),
        Statement(source, "then lose {} % of the packets", (f"{100 * lost:.0f}",)),
    ]


def _papers():
    return [
        *(_counts(name, pages) for name, pages in PAPERS.items()),
        Statement(
            CPQ,
            "with plain RED in place of every mechanism, {} of CPQ's numbers would agree as well",
            (row(CPQ, "**all**", "plain RED within")["plain RED within"].strip("*"),),
        ),
    ]


def _counts(name, pages):
    """README's row of a paper: cells that agree, statements that hold, over all of its pages."""
    headings = ["cells within", "claims held", *([WITHOUT] if all_pages_count_it() else [])]
    counts = [_sum(pages, heading) for heading in headings]
    reported = " | ".join("{} of {}" if pair else "-" for pair in counts)
    numbers = tuple(str(number) for pair in counts for number in pair)
    return Statement(", ".join(pages), f"| {name} | {reported} |", numbers)


def _sum(pages, heading):
    """[that agree, of all] over the pages; nothing where none of them counts any."""
    cells = (row(page, "**all**", heading)[heading].strip("* ") for page in pages)
    pairs = [tuple(map(int, cell.split(" of "))) for cell in cells if cell]
    return [sum(column) for column in zip(*pairs, strict=True)]


def _gamma():
    reproduced = [
        one
        for one in table(ABC, "D_b_ms", "u_0", "u_1", "gamma", "paper", "ours")
        if (one["D_b_ms"], one["u_0"], one["u_1"]) == ("5", "1", "10")
    ]
    lab = [
        {"γ": one["γ"], "paper": one["paper"], "simulator": simulated, "Linux": linux}
        for one in table(LAB_ABC, "γ", "paper", "throughput ratio")
        for simulated, linux, _ in [one["throughput ratio"].split("<br>")]
    ]
    assert [one["gamma"] for one in reproduced] == [one["γ"] for one in lab]
    rows = {
        "the paper's simulation": (LAB_ABC, lab, "paper"),
        "reproduced, TCP of Linux 2.6.29": (ABC, reproduced, "ours"),
        "simulated, TCP of today's Linux": (LAB_ABC, lab, "simulator"),
        "**real Linux**": (LAB_ABC, lab, "Linux"),
    }
    return [
        Statement(source, f"| {name} |" + " {} |" * len(found), tuple(one[column] for one in found))
        for name, (source, found, column) in rows.items()
    ]


def _mixes():
    without, with_abc = (
        one["ratio"].removeprefix("Linux: ")
        for one in table(LAB_MIXES, "users", "ratio")
        if one["users"] == "BBR heavy, Reno light"
    )
    return Statement(
        LAB_MIXES,
        "with ten BBR flows gets {} times the throughput of a user with one Reno flow, "
        "and {} times with ABC",
        (_mean(without), _mean(with_abc)),
    )


def _fidelity():
    tables = []
    for one in table(FIDELITY, "scenario", "loss [%]", "verdict"):
        # Each table's numbers begin again at 01.
        tables += [[]] if one["scenario"].startswith("01-") else []
        tables[-1].append(one)
    first, first_stock, held_out, held_out_stock = tables
    stock = [one["verdict"] for one in [*first_stock, *held_out_stock]]
    names, beyond, losses = [], [], []
    for folder, one in [*(("", one) for one in first), *(("held-out/", one) for one in held_out)]:
        names.append(f"`{folder}{one['scenario'].partition(':')[0]}`")
        beyond += names[-1:] if one["verdict"] != "within 10 %" else []
        if deviation := re.search(r"\*\*([^*–]+)\*\*", one["loss [%]"]):
            losses.append(f"{names[-1]} ({deviation[1]})")
    return [
        Statement(
            FIDELITY,
            "queue are within 10 % of the kernel's in {} of "
            "[{} scenarios](studies/fidelity/RESULTS.md), all but {}. The",
            (str(len(names) - len(beyond)), str(len(names)), _listed(beyond)),
        ),
        Statement(
            FIDELITY, "packets lost is off by more than that, and by more than chance, in {}.\n",
            (_listed(losses),),
        ),
        Statement(
            FIDELITY, "single runs on a stock kernel in {} of {}.",
            (str(stock.count("within 10 %")), str(len(stock))),
        ),
    ]  # fmt: skip


def _cpq():
    def ratio(mechanism):
        cell = row(LAB_CPQ, mechanism, "mechanism", "heavy over light")["heavy over light"]
        return _mean(cell.split("<br>")[1])

    policers = [
        float(ratio(name))
        for name in ("ICP-step", "ICP-slope", "ICP-squared", "AFCP-a", "AFCP-b")
    ]  # fmt: skip
    return Statement(
        LAB_CPQ,
        "CUBIC flows get {} times the throughput of one under RED alone, between {} and {} times "
        "with ICP and AFCP, {} times with AICP-b and {} times with AICP-a",
        (
            *(ratio("RED"), f"{min(policers):.2g}", f"{max(policers):.2g}"),
            *(ratio("AICP-b"), ratio("AICP-a")),
        ),
    )


def _league():
    rows = table(LEAGUE, "mechanism", "name", "configured")
    # Rows without a page of their own are the same mechanisms with other parameters.
    mechanisms = [one for one in rows if one["mechanism"].startswith("[")]
    return Statement(
        LEAGUE,
        "The league](studies/league/RESULTS.md) plays {} mechanisms of a bottleneck in one set",
        (str(len(mechanisms)),),
    )


def _performance():
    times = table(PERFORMANCE, "net", "ns-2 net", "ratio (of runs)")
    ratios = [one["ratio (of runs)"] for one in times if one["ratio (of runs)"] != "-"]
    medians = [float(ratio.split()[0]) for ratio in ratios]
    single = [
        float(one) for ratio in ratios for one in re.search(r"\((.*)\)", ratio)[1].split(" to ")
    ]
    ns3 = {one[""]: _packets(one["ns-3 optimised"]) for one in table(PERFORMANCE, "ns-3 optimised")}
    apart = [_packets(one["net"]) / ns3[one[""]] for one in times if one[""] in ns3]
    return Statement(
        PERFORMANCE,
        "- **Fast**: {} to {} times as many packets per CPU second as ns-2 "
        "(single runs: {} to {}), with statistics on, and {} to {} times as many as ns-3,",
        (
            *(f"{one:.1f}" for one in (min(medians), max(medians), min(single), max(single))),
            *(f"{float(f'{one:.2g}'):.0f}" for one in (min(apart), max(apart))),
        ),
    )


def _group_means(result):
    rows = result.summary().to_pylist()
    return {(one["name"], one["metric"]): one["mean"] for one in rows if one["kind"] == "group"}


def _mean(cell):
    """What stands before ±."""
    return cell.split(" ±")[0].strip("*")


def _packets(cell):
    """Packets per second from "46 k" or "4.1 M"."""
    number, unit = cell.split()
    return float(number) * {"k": 1e3, "M": 1e6}[unit]


def _listed(names):
    *others, last = names or ["none"]
    return f"{', '.join(others)} and {last}" if others else last
