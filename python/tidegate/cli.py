"""The command `tidegate`."""


def main() -> None:
    """Entry point."""
    raise SystemExit("not yet")
