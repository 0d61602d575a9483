"""SEARCH.md: what search.csv says of RED's parameters and of the readings of each mechanism."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from search import (
    BDP_PACKETS,
    FOLDER,
    READINGS,
    TAKEN,
    Place,
    Red,
    Row,
    Search,
    changed,
    column_of,
    text_of,
    value_of,
)

from tidegate.studies.page import table

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

BEST = 4
"""REDs that get all deployments, by their sum over all mechanisms."""
SHOWN = 15
POLICERS = [name for name, readings in READINGS.items() if readings and name != "RED"]
TOLD: dict[str, Place] = {
    "II index": ("table2", "", "jain_fairness"),
    "II used": ("table2", "", "bottleneck_utilization"),
    "III mean (s)": ("table3", "", "finish_time_mean"),
    "III used": ("table3", "", "bottleneck_utilization"),
    "IVa all": ("table4a", "all", "mean_utilization_of_shared_links"),
    "IVb 1-3": ("table4b", "1-3", "jain_fairness_one_vs_four_queues"),
    "IVb all": ("table4b", "all", "jain_fairness_one_vs_four_queues"),
}
"""What decides a mechanism's cells: columns of the tables of readings."""


class Score(NamedTuple):
    """Cells of a row; compared in this order."""

    told: int
    """Within, and told from plain RED."""
    within: int
    cells: int

    def __str__(self) -> str:
        """Give as `3 + 2 of 9`: told, within besides, cells."""
        return f"{self.told} + {self.within - self.told} of {self.cells}"


class Scored(NamedTuple):
    """A row and what it is worth."""

    score: Score
    row: Row

    @property
    def red(self) -> Red:
        """RED's parameters."""
        row = self.row
        numbers = int(row["min_th"]), int(row["max_th"]), float(row["max_p"]), float(row["weight"])
        return Red(*numbers, row["spacing"])


def score(search: Search, row: Row, red: Row, *, screened: bool = True) -> Score:
    """Count a row's cells; of deployments those alone that every row has."""
    judged = {
        place: verdict
        for place, verdict in search.judged(row, red).items()
        if not (screened and place[1] in ("1", "3", "4", "2-4"))
    }
    within = [verdict for verdict in judged.values() if verdict.within]
    return Score(sum(verdict.differs for verdict in within), len(within), len(judged))


def scored(search: Search, rows: Iterable[Row], *, screened: bool = True) -> list[Scored]:
    """Every row of a mechanism that has plain RED's beside it."""
    rows = list(rows)
    red_of = {_key(row): row for row in rows if row["mechanism"] == "RED"}
    return [
        Scored(score(search, row, red_of[_key(row)], screened=screened), row)
        for row in rows
        if row["mechanism"] in POLICERS and _key(row) in red_of
    ]


def sums(every: Sequence[Scored]) -> dict[Red, dict[str, Scored]]:
    """By RED, each mechanism in the reading that suits it best there; REDs with all, best first."""
    found: dict[Red, dict[str, Scored]] = {}
    for one in every:
        best = found.setdefault(one.red, {})
        name = one.row["mechanism"]
        if name not in best or one.score > best[name].score:
            best[name] = one
    whole = {red: best for red, best in found.items() if len(best) == len(POLICERS)}
    return dict(sorted(whole.items(), key=lambda item: total(item[1].values()), reverse=True))


def total(of: Iterable[Scored]) -> Score:
    """Sum over mechanisms."""
    scores = [one.score for one in of]
    return Score(*(sum(column) for column in zip(*scores, strict=True)))


def best_reds(search: Search, rows: Iterable[Row]) -> dict[Red, set[str] | None]:
    """What was taken and the best of the screened for all mechanisms, and the best for some."""
    every = scored(search, rows)
    found: dict[Red, set[str] | None] = dict.fromkeys([TAKEN, *list(sums(every))[:BEST]])
    for name in POLICERS:
        own = found.setdefault(_best(every, name).red, {"RED"})
        if own is not None:
            own.add(name)
    return found


def write_page(search: Search, rows: Sequence[Row]) -> None:
    """Write SEARCH.md."""
    every = scored(search, rows)
    by_red = sums(every)
    head = f"""
# What was tried for the assumptions of studies/cpq

Written by search.py: {len(rows)} rows, each one mechanism in one reading with one RED over all
ten intervals; search.csv has every measured value with the half-width of its 95 % interval.
Thresholds are in packets (the bandwidth-delay product is {BDP_PACKETS}).

A score such as "3 + 2 of 9" says: of nine cells three are within the page's tolerance and told from
plain RED (beyond the interval of the difference), two more are within but cannot be told from it.
REDs and readings are ranked by the first number, then by the second. Deployments 1, 3, 4 and 2-4 of
tables IVa and IVb were run for the best REDs alone and count only in the last table.
"""
    sections = [head.strip()]
    if by_red:
        sections += [
            "## One RED for all\n\nEach mechanism in the reading that suits it best there.",
            _reds(by_red, list(by_red)[:SHOWN]),
            "## One thing changed\n\nWhat was taken, and the same with one parameter changed.",
            _reds(by_red, [red for red in changed() if red in by_red]),
            _by_level(by_red),
        ]
    sections += ["## Each mechanism by itself", _by_itself(every, by_red)]
    sections += [_readings(search, every, name) for name in POLICERS if len(READINGS[name]) > 1]
    whole = [
        row
        for row in rows
        if all(row[column_of(p)] for p in search.cells.get(row["mechanism"], {}))
    ]
    sections += ["## All deployments", _whole(scored(search, whole, screened=False))]
    (FOLDER / "SEARCH.md").write_text("\n\n".join(sections) + "\n", encoding="utf-8")


def _reds(by_red: dict[Red, dict[str, Scored]], chosen: Sequence[Red]) -> str:
    rows = [
        [
            *_red(red),
            str(total(by_red[red].values())),
            *(str(by_red[red][n].score) for n in POLICERS),
        ]
        for red in chosen
    ]
    return table([*Red._fields, "all", *POLICERS], rows)


def _by_level(by_red: dict[Red, dict[str, Scored]]) -> str:
    rows = []
    for name in Red._fields:
        levels = sorted({getattr(red, name) for red in by_red})
        for level in levels:
            found = [
                total(best.values()) for red, best in by_red.items() if getattr(red, name) == level
            ]
            mean = sum(one.told for one in found) / len(found)
            rows.append([name, text_of(level), str(len(found)), f"{mean:.1f}", str(max(found))])
    head = ["parameter", "level", "REDs", "mean told from RED", "best"]
    return "All REDs, by level:\n\n" + table(head, rows)


def _by_itself(every: Sequence[Scored], by_red: dict[Red, dict[str, Scored]]) -> str:
    common = next(iter(by_red), TAKEN)
    rows = []
    for name in POLICERS:
        mine = [one for one in every if one.row["mechanism"] == name]
        if not mine:
            continue
        best = _best(mine, name)
        rows.append([
            name, str(best.score), ", ".join(_red(best.red)), best.row["reading"],
            *(str(_best([o for o in mine if o.red == red] or mine, name).score)
              for red in (common, TAKEN)),
        ])  # fmt: skip
    head = ["mechanism", "best", "with RED", "reading", "with the best RED for all", "as taken"]
    return table(head, rows)


def _readings(search: Search, every: Sequence[Scored], name: str) -> str:
    """Show how a mechanism's cells depend on its reading and on max_p."""
    published = [f"{search.cells[name][place].value:g}" for place in TOLD.values()]
    rows = [["the paper", "", "", *published]]
    mine = [one for one in every if one.row["mechanism"] == name and _only_max_p(one.red)]
    for one in sorted(mine, key=lambda one: (one.row["reading"], one.red.max_p)):
        values = [f"{value_of(one.row, place).mean:.3g}" for place in TOLD.values()]
        rows.append([one.row["reading"], text_of(one.red.max_p), str(one.score), *values])
    return f"### {name}\n\n" + table(["reading", "max_p", "score", *TOLD], rows)


def _whole(every: Sequence[Scored]) -> str:
    ranked = sorted(
        every, key=lambda one: (POLICERS.index(one.row["mechanism"]), one.score), reverse=True
    )
    rows = [
        [one.row["mechanism"], one.row["reading"], *_red(one.red), str(one.score)] for one in ranked
    ]
    return table(["mechanism", "reading", *Red._fields, "score"], rows)


def _best(every: Iterable[Scored], name: str) -> Scored:
    return max((one for one in every if one.row["mechanism"] == name), key=lambda one: one.score)


def _only_max_p(red: Red) -> bool:
    return red._replace(max_p=TAKEN.max_p) == TAKEN


def _red(red: Red) -> list[str]:
    return [text_of(value) for value in red]


def _key(row: Row) -> tuple[str, ...]:
    return tuple(row[name] for name in Red._fields)
