"""Errors of this package."""

from tidegate.errors import TidegateError


class ReproductionError(TidegateError):
    """A study's folder asks for something that does not exist or does not fit together."""


class NothingLeftError(ReproductionError):
    """Nothing that was measured matches a claim, such as the other side of a curve."""
