"""Libraries that a plain installation leaves out, and what installs them."""

from __future__ import annotations

from importlib.util import find_spec

from tidegate.errors import TidegateError

EXTRAS = {"clarabel": "analysis", "matplotlib": "figures", "scipy": "analysis"}
"""The extra of `pip install 'tidegate[EXTRA]'` that brings each library."""


class MissingLibraryError(TidegateError, ModuleNotFoundError):
    """A library is not installed; the message says what installs it."""

    def __init__(self, library: str) -> None:
        self.library = library
        super().__init__(library, name=library)

    def __str__(self) -> str:
        return f"{self.library} is not installed: pip install 'tidegate[{EXTRAS[self.library]}]'"


def is_there(library: str) -> bool:
    """Whether a library is installed.

    >>> is_there("numpy"), is_there("no_such_library")
    (True, False)
    """
    return find_spec(library) is not None


def require(library: str) -> None:
    """Raise `MissingLibraryError` where one of `EXTRAS` is not installed."""
    if not is_there(library):
        raise MissingLibraryError(library)
