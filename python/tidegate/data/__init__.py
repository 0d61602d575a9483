"""Scenarios, sweeps, and the data of studies, which come with the package.

In a checkout they are links to its folders, in an installed package files. A wheel also has the
lab's programs, in ``programs``.
"""

from __future__ import annotations

import os
from difflib import get_close_matches
from pathlib import Path

from tidegate.errors import ResultError, UsageError

DATA = Path(__file__).resolve().parent
PROGRAMS = DATA / "programs"
"""Of the lab; `make wheel` puts them there."""
IN_CHECKOUT = (DATA.parents[2] / "Makefile").is_file()


def remedy(target: str, needs: str = "") -> str:
    """What to do where something is missing that ``make TARGET`` builds, as the end of a sentence.

    An installed package has no Makefile: there a checkout of the source has what is missing.
    """
    where = f", {needs}" if needs else ""
    if IN_CHECKOUT:
        return f"`make {target}` builds it{where}"
    return f"this package was built without it; a checkout of tidegate's source builds it{where}"


def data_folder(kind: str) -> Path:
    """Folder of ``"studies"``, ``"scenarios"`` or ``"sweeps"``.

    An environment variable such as ``TIDEGATE_STUDIES`` names another.
    """
    variable = f"TIDEGATE_{kind.upper()}"
    named = os.environ.get(variable)
    folder = Path(named) if named else DATA / kind
    if not folder.is_dir():
        where = f"{variable} names it" if named else "the package lacks it: install it again"
        raise UsageError(f"no folder {folder}; {where}")
    return folder.resolve()


def in_package(path: Path) -> Path:
    """The path, or where there is none, the file of that name that comes with the package.

    >>> in_package(Path("scenarios/s1-dumbbell.toml")).is_file()
    True
    >>> in_package(Path("s1-dumbbell")).name
    's1-dumbbell.toml'
    """
    bare = len(path.parts) == 1 and not path.suffix
    # A folder of results may have the name of a scenario.
    exists = path.exists() and not (bare and path.is_dir())
    if exists or path.is_absolute() or ".." in path.parts:
        return path
    there = [DATA / path, *([DATA / "scenarios" / f"{path}.toml"] if bare else [])]
    return next((one for one in there if one.is_file()), path)


def nearest_file(path: Path) -> Path | None:
    """Of the files in the folder that is named, here or in the package, the one named most alike.

    >>> print(nearest_file(Path("scenarios/s1-dumbell.toml")))
    scenarios/s1-dumbbell.toml
    >>> print(nearest_file(Path("evening-peek")))
    evening-peak
    """
    folders = [path.parent] if path.is_absolute() else [path.parent, DATA / path.parent]
    names = {file.name for folder in folders for file in folder.glob(f"*{path.suffix}")}
    if len(path.parts) == 1 and not path.suffix:
        names |= {file.stem for file in (DATA / "scenarios").glob("*.toml")}
    near = get_close_matches(path.name, sorted(names), 1)
    return path.parent / near[0] if near else None


def check_source(folder: Path) -> None:
    """Refuse to write pages that belong to the source beside data of an installed package."""
    if folder.resolve().is_relative_to(DATA):
        raise ResultError(
            "these pages belong to the source: --report works in a checkout of the repository; "
            "without it, results go to the current folder"
        )
