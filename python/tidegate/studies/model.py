"""What a study is made of: experiments, series of points, published cells, claims, a baseline."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tidegate.studies.numbers import Numbers
from tidegate.studies.verdict import Tolerance

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tidegate.results.statistics import Estimate
    from tidegate.studies.beside import Beside
    from tidegate.studies.factors import Factor, Level, Override, Setting
    from tidegate.studies.metrics import Measures
    from tidegate.studies.rankings import Ranking
    from tidegate.studies.relative import Near, Relative
    from tidegate.studies.sides.model import Model

TEN_PER_CENT = Tolerance(0.10)


@dataclass(frozen=True)
class Cell:
    """One published number."""

    experiment: str
    levels: Mapping[str, Level]
    metric: str
    value: float
    unit: str
    tolerance: Tolerance = TEN_PER_CENT
    """How near ours has to be: 10 %, unless `study.toml` asks for something else of the metric."""
    cannot_fail: str = ""
    """Why no measurement of ours could be out here; empty where one could."""
    measured: Estimate | None = None
    """The number with its interval, where it was measured and not published."""

    @property
    def id(self) -> str:
        """Such as `table2: D_b_ms=5 u_0=1 u_1=10 gamma=0 throughput_ratio_T_R`."""
        levels = " ".join(f"{name}={level}" for name, level in self.levels.items() if level != "")
        return f"{self.experiment}: {levels} {self.metric}"


@dataclass(frozen=True)
class Series:
    """A set of points that are produced in the same way."""

    name: str
    settings: tuple[Setting, ...]
    replications: int
    model: Model | None = None
    """What computes them; `None` if they are simulated or rankings."""
    ranking: Ranking | None = None
    """What ranks other series' points."""
    quick_replications: int | None = None
    """Runs per point with `--quick`, where the study's own number is too small."""
    more_runs: bool = True
    """Whether points of an undecided claim get more runs; not where a run is long."""
    without_mechanism: bool = True
    """Whether it can be measured with the baseline in the mechanism's place."""
    reduced: bool = False
    """Whether it is not what it is in full."""
    side: str = ""
    """Where it was measured, if not in the simulator."""
    measured: Path | None = None
    """Table of what was measured there."""
    kernel: str = "auto"
    """Of the side `kernel`: series of the stock kernel that it is measured on."""
    beside: Model | None = None
    """What computes further metrics of the points that are simulated."""

    @property
    def simulated(self) -> bool:
        """Whether its points are simulated."""
        return self.model is None and self.ranking is None and self.measured is None


@dataclass(frozen=True)
class Claim:
    """A published statement, and which of our measurements it is put to."""

    id: str
    experiment: str
    text: str
    check_text: str
    section: str
    """Where the paper says it; empty for what a study asks of its own."""
    check: Mapping[str, Any]
    parts: tuple[Mapping[str, Any], ...]
    reading: str = ""
    """What of the statement is put to the test, or how, where that is not all of it."""
    cannot_fail: str = ""
    """Why no measurement of ours could contradict it; empty where one could."""


@dataclass(frozen=True, kw_only=True)
class Baseline:
    """What stands in every cell and claim if the mechanism is not there (see `baselines`)."""

    name: str
    set: Mapping[str, Any] = field(default_factory=dict)
    """What it changes in the scenarios."""
    where: Mapping[str, Any] = field(default_factory=dict)
    """Levels of the points that it changes; all others are without the mechanism."""
    levels: Mapping[str, Level] = field(default_factory=dict)
    """Levels of the study's own point without the mechanism."""
    values: Mapping[str, float] = field(default_factory=dict)
    """Metrics for which it is a number."""
    replications: int | None = None
    """Runs a point, if fewer than the series has."""
    same_as: Mapping[str, str] = field(default_factory=dict)
    """For a metric without an interval, the metric by which a difference is judged."""


@dataclass(frozen=True)
class Experiment:
    """One table, figure or paragraph."""

    name: str
    title: str
    section: str
    series: Mapping[str, Series]
    cells: tuple[Cell, ...]
    claims: tuple[Claim, ...]
    figure: Mapping[str, Any] | None
    notes: str
    metric_of: Mapping[str, str]
    """For the sensitivity experiment, the metric of each of its cells."""
    part: str = ""
    """Name of the part that it belongs to, in a study with parts."""
    page: str = ""
    """Name of the page that it belongs to, in a study with several pages."""
    tables: tuple[Mapping[str, Any], ...] = ()
    """Of what was measured, see `tabled`."""
    baseline: Baseline | None = None
    """The study's baseline, or its own."""
    factors: Mapping[str, Factor] = field(default_factory=dict)
    """The study's, and its own."""
    beside: Beside | None = None
    """Which of its series were measured elsewhere as well."""


@dataclass(frozen=True)
class Study:
    """Everything in a study's folder but the explanations."""

    name: str
    folder: Path
    title: str
    measures: Measures
    quick_replications: int
    quick_overrides: tuple[Override, ...]
    """What `--quick` changes in every scenario, for studies whose runs are few and long."""
    shortened: bool
    """Whether that, or what it changes in some set-up, is in here."""
    without: frozenset[str]
    """Names of series and experiments that `--quick` leaves out, and `sensitivity`."""
    experiments: Mapping[str, Experiment]
    sensitivity: Experiment | None
    samples: str
    """What confidence intervals are over."""
    terms: str
    """The study's own terms, as items of a Markdown list."""
    baseline: Baseline | None = None
    """What stands without the mechanism in all experiments that have none of their own."""
    by_chapter: bool = False
    """Whether its pages say which of its chapters has what."""
    relatives: Mapping[str, Relative] = field(default_factory=dict)
    """Metrics of points over those of others."""
    near: Mapping[str, Near] = field(default_factory=dict)
    """Metrics of points over those of their models."""
    numbers: Numbers = field(default_factory=Numbers)
    """What the prose of its pages may name."""
    own_replications: int | None = None
    """Runs a point that the paper itself has, where it says so and has fewer."""
