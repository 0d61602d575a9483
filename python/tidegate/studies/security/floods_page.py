"""`docs/reecn-security.md` and its figure: what floods and lies come to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from matplotlib import rc_context
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from tidegate.figures.look import COLOURS, INK, STYLE, look, write
from tidegate.studies.page import filled, table
from tidegate.studies.security.field import HONEST
from tidegate.studies.security.floods import BUCKET_BPS, DEFENCE, LEAST, LIES, TUNNEL
from tidegate.studies.security.verdicts import MOST

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.axes import Axes

    from tidegate.results.statistics import Estimate
    from tidegate.studies.security.floods import Floods

_COLOURS = (*COLOURS, INK, "#882255", "#999933", "#661100", "#6699cc")
"""One for each defence, so that none comes twice."""
_SECONDS = (0.2, 0.5, 1, 2, 5, 10, 20, 60)


@dataclass(frozen=True)
class Shown:
    """The study's findings with their page and figure."""

    floods: Floods

    def failures(self) -> list[str]:
        """What does not hold."""
        return self.floods.failures()

    def tables(self) -> str:
        """All numbers."""
        return "\n\n".join(
            [self._kept(), self._rates(), self._responses(), self._lies(), self._tunnels()]
        )

    def page(self) -> str:
        """The page's text."""
        return filled(self.floods.folder / "page.md", {
            "verdict": self._verdict(),
            "kept": self._kept(),
            "rates": self._rates(),
            "responses": self._responses(),
            "lies": self._lies(),
            "tunnels": self._tunnels(),
            "effort": self._effort(),
        })  # fmt: skip

    def draw(self, path: Path) -> Path:
        """What victims keep, and how long pages take: a column a flood, a line a defence."""
        path.parent.mkdir(parents=True, exist_ok=True)
        floods = self.floods.titles("floods")
        with rc_context(STYLE):
            figure = Figure(figsize=(11.0, 7.0), layout="constrained")
            FigureCanvasAgg(figure)
            panels = figure.subplots(2, len(floods), sharex=True, sharey="row")
            for column, (flood, title) in enumerate(floods.items()):
                self._panel(panels[0, column], flood, "kept_during")
                self._panel(panels[1, column], flood, "response_during_s")
                panels[0, column].set_title(title, fontsize=11)
                panels[1, column].set_xlabel("attackers")
            for axes in panels[0]:
                axes.axhline(LEAST, color=INK, linewidth=1.0, linestyle=":")
            panels[0, 0].set_ylabel("victims' throughput during the flood\nover that before")
            panels[1, 0].set_ylabel("response time during the flood (s)")
            panels[0, 0].set_ylim(0, 1.2)
            panels[1, 0].set_yscale("log")
            panels[1, 0].set_yticks(_SECONDS, [f"{tick:g}" for tick in _SECONDS])
            handles, labels = panels[0, 0].get_legend_handles_labels()
            figure.legend(handles, labels, loc="outside lower center", ncols=3)
            return write(figure, path)

    def _panel(self, axes: Axes, flood: str, number: str) -> None:
        counts = self.floods.attackers
        defences = self.floods.titles("defences")
        for place, (defence, title) in enumerate(defences.items()):
            found = [self.floods.found(defence, flood, count, number) for count in counts]
            # Side by side, so that none hides another.
            shift = 0.06 * (place - (len(defences) - 1) / 2)
            own = look(place)._replace(colour=_COLOURS[place])
            axes.errorbar(
                [at + shift for at in range(len(counts))], [one.mean for one in found],
                yerr=[one.ci95 for one in found], color=own.colour, marker=own.marker,
                markersize=5, capsize=2, linewidth=1.0, label=title,
            )  # fmt: skip
        axes.set_xticks(range(len(counts)), [str(count) for count in counts])

    def _columns(self) -> list[tuple[str, int]]:
        return [(flood, count) for flood in self.floods.titles("floods")
                for count in self.floods.attackers]  # fmt: skip

    def _by_defence(self, cell: str) -> str:
        """A row a defence, a column a flood and its size; `cell` has numbers' names in braces."""
        titles = self.floods.titles("floods")
        head = [f"{titles[flood]}, {count}" for flood, count in self._columns()]
        rows = [
            [title, *(self._cell(cell, defence, flood, count) for flood, count in self._columns())]
            for defence, title in self.floods.titles("defences").items()
        ]
        return table(["defence", *head], rows, numbers_from=1)

    def _cell(self, cell: str, defence: str, flood: str, count: int) -> str:
        return " / ".join(
            _written(self.floods.found(defence, flood, count, number), number)
            for number in cell.split()
        )

    def _kept(self) -> str:
        return self._by_defence("kept_during kept_after")

    def _rates(self) -> str:
        return self._by_defence("victims_before_bps victims_during_bps attack_during_bps")

    def _responses(self) -> str:
        return self._by_defence("response_before_s response_during_s response_after_s")

    def _lies(self) -> str:
        rows = []
        for lie, title in self.floods.titles("strategies").items():
            gain = self.floods.gain(lie)
            rows.append([title, gain.ratio.written(2) if gain else "–"])
        return table(["lie", "goodput over that of the same user, honest"], rows, numbers_from=1)

    def _tunnels(self) -> str:
        rows = []
        for who, title in self.floods.titles(TUNNEL).items():
            gain = self.floods.gain_behind(who)
            has, others = (
                f"{self.floods.behind(who, number).mean / 1e6:.2f}"
                for number in ("customer_bps", "others_bps")
            )
            alone = "alone" not in self.floods.content[TUNNEL][who]
            ratio = "" if alone else gain.ratio.written(2) if gain else "–"
            rows.append([title, has, ratio, others])
        head = ["in his tunnel", "has [Mb/s]", "over who sends alike, alone", "others have each"]
        return table(head, rows, numbers_from=1)

    def _verdict(self) -> str:
        kept = [
            self.floods.found(DEFENCE, flood, count, "kept_during")
            for flood, count in self._columns()
        ]
        least = min(kept, key=lambda one: one.mean)
        lies = [name for name in self.floods.titles("strategies") if name != HONEST]
        gains = [gain.ratio for lie in lies if (gain := self.floods.gain(lie))]
        most = max(gains, key=lambda one: one.mean)
        together = max(self.floods.behind(who).mean for who in self.floods.titles(TUNNEL))
        told = (
            f"Behind policers per user and droppers victims keep at least {least.written(2)} of "
            f"what they had. Behind policers per flow and droppers a liar gets at most "
            f"{most.written(2)} of what honesty gives him. "
            f"A customer gets {together / 1e6:.2f} Mb/s at most, however many share his tunnel, of "
            f"the {BUCKET_BPS / 1e6:g} Mb/s that come into his bucket."
        )
        failed = self.failures()
        if not failed:
            return told
        asked = f"Asked for was {LEAST:g} at least, and {MOST:g} at most."
        return f"{told} {asked}\n\n**Does not hold:** {'; '.join(failed)}."

    def _effort(self) -> str:
        counts = {len(one.valid) for one in self.floods.book.read(DEFENCE).values()}
        lies = {len(one.valid) for one in self.floods.book.read(LIES).values()}
        runs, more = (" or ".join(str(one) for one in sorted(of)) for of in (counts, lies))
        return f"Numbers are means of {runs} runs, those of liars of {more}."


def _written(found: Estimate, number: str) -> str:
    if number.endswith("_bps"):
        return f"{found.mean / 1e6:.2f}"
    return f"{found.mean:.2f}"
