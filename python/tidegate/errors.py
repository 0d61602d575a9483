"""What can go wrong, each with the exit code that the command ends with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from tidegate.escapes import one_line

IssueRow: TypeAlias = "tuple[int | None, int | None, str, str, str | None, str]"
"""The fields of an `Diagnostic`, as the engine gives them."""


class TidegateError(Exception):
    """Base of all errors that tidegate raises on purpose."""

    exit_code = 1


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One error in a scenario."""

    line: int | None
    """Line of the file, from 1; None where the value was set from outside the file."""
    column: int | None
    """Column in characters, from 1."""
    key: str
    """Dotted path, such as ``bottleneck.rate``."""
    message: str
    """What is wrong and what was expected."""
    suggestion: str | None
    """The nearest valid name, if one is near."""
    text: str
    """All of it in one line, for people."""

    def __str__(self) -> str:
        return self.text


class ScenarioError(TidegateError):
    """A scenario was refused; ``issues`` has every error, not only the first."""

    exit_code = 3

    def __init__(
        self,
        issues: list[IssueRow],
        source: str | None = None,
    ) -> None:
        self.issues = [Diagnostic(*issue) for issue in issues]
        self.source = source
        super().__init__(issues, source)

    def __str__(self) -> str:
        prefix = f"{one_line(self.source)}: " if self.source else ""
        return "\n".join(f"{prefix}{issue}" for issue in self.issues)


class RunError(TidegateError):
    """A run stopped: it would have held more than there is room for, and the reason names the key.

    Any other reason is an invariant of the simulator that broke, which is a bug in tidegate.
    """

    def __init__(self, seed: int, reason: str) -> None:
        self.seed = seed
        self.reason = reason
        super().__init__(seed, reason)

    def __str__(self) -> str:
        return f"the run with seed {self.seed} failed: {self.reason}"


class OfferError(TidegateError):
    """What a socket pays could not be looked at or changed; the message says why."""


class LabError(TidegateError):
    """A run on real Linux stopped."""

    def __init__(self, seed: int, reason: str) -> None:
        self.seed = seed
        self.reason = reason
        super().__init__(seed, reason)

    def __str__(self) -> str:
        return f"the lab's run with seed {self.seed} failed: {self.reason}"


class DeadWorkerError(TidegateError):
    """A task took the process down that worked on it, each time it was tried."""

    def __init__(self, worker: str) -> None:
        self.worker = worker
        super().__init__(worker)

    def __str__(self) -> str:
        return f"its worker died each time it was tried, the last at {self.worker}"


class ClusterError(TidegateError):
    """The cluster cannot be reached, went away, or must not be used."""

    exit_code = 69


class OverloadError(TidegateError):
    """The machine could not keep up with any of the lab's runs, so that there is no result."""

    exit_code = 6


class MissingError(TidegateError):
    """The lab needs what is not here; ``missing`` has a line for each with its remedy."""

    exit_code = 77

    def __init__(self, missing: list[str]) -> None:
        self.missing = missing
        super().__init__(missing)

    def __str__(self) -> str:
        return "\n  ".join(["the lab cannot run here:", *self.missing])


class MissingPageError(TidegateError):
    """The page of `tidegate explore` or that of `tidegate report` is not built."""

    exit_code = 77

    def __init__(self, page: str = "tidegate") -> None:
        self.page = page
        super().__init__(page)

    def __str__(self) -> str:
        from tidegate.data import remedy

        if self.page == "report":
            why = remedy("report-page", "which takes node and npm")
            return f"the page of reports is not there: {why}"
        needs = "which takes node, npm and Rust's target wasm32-unknown-unknown"
        return f"the page is not there: {remedy('page', needs)}"


class TraceError(TidegateError):
    """A trace of a link cannot be read; the message says why, by line."""

    exit_code = 3


class ResultError(TidegateError):
    """A result folder cannot be read or written."""


class UsageError(TidegateError):
    """An argument makes no sense."""

    exit_code = 2


class AnalysisError(TidegateError):
    """No model gives an answer; the message says why, and what would."""

    exit_code = 3


class NoEquilibriumError(AnalysisError):
    """Sources and link do not settle anywhere: why, and the nearest thing that would."""

    def __init__(self, reason: str, nearest: str) -> None:
        self.reason = reason
        self.nearest = nearest
        super().__init__(reason, nearest)

    def __str__(self) -> str:
        return f"there is no equilibrium: {self.reason}; {self.nearest}"
