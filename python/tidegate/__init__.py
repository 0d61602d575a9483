"""When a network link is congested: who gets what, and what would make it fair?"""

from tidegate._native import __version__

__all__ = ["__version__"]
