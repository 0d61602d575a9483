"""The compiled part; `crates/python` says what each name does."""

from collections.abc import Sequence
from typing import TypedDict, final

import numpy as np
from numpy.typing import NDArray

__version__: str

class ParameterEntry(TypedDict):
    name: str
    default: str
    unit: str
    meaning: str

class MechanismEntry(TypedDict):
    name: str
    room: str
    title: str
    summary: str
    source: str
    usage: str
    parameters: list[ParameterEntry]
    file: str
    header: str

def version() -> str: ...
def schema() -> str: ...
def mechanisms() -> list[MechanismEntry]: ...

@final
class Scenario:
    @staticmethod
    def parse(text: str, overrides: Sequence[tuple[str, str]] = ...) -> Scenario: ...
    def run(self, seed: int) -> dict[str, dict[str, NDArray[np.generic] | list[str]]]: ...
    def points(self) -> list[list[tuple[str, str]]]: ...
    def to_toml(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def description(self) -> str | None: ...
    @property
    def seed(self) -> int: ...
    @property
    def replications(self) -> int: ...
    @property
    def groups(self) -> list[str]: ...
    @property
    def user_groups(self) -> list[int]: ...
    @property
    def bottlenecks(self) -> list[tuple[str, int, float]]: ...
    @property
    def duration_s(self) -> float: ...
    @property
    def warm_up_s(self) -> float: ...
