"""Errors of this package."""

from tidegate.errors import TidegateError


class ReproductionError(TidegateError):
    """A paper's folder asks for something that does not exist or does not fit together."""


class NothingLeftError(ReproductionError):
    """What a claim speaks of is not there in what was measured, such as a curve's other side."""
