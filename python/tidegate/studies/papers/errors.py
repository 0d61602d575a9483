"""The one error of this package."""

from tidegate.errors import TidegateError


class ReproductionError(TidegateError):
    """A paper's folder asks for something that does not exist or does not fit together."""
