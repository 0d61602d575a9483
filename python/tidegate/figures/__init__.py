"""Drawings of results, comparisons and sweeps, and the look that all figures share."""

from tidegate.extras import require

require("matplotlib")
