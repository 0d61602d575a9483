"""What something was measured on."""

from __future__ import annotations

import os
import platform
from pathlib import Path


def machine() -> str:
    """Processor and its cores, as far as Linux tells."""
    model = platform.machine()
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                model = line.partition(":")[2].strip()
                break
    except OSError:
        pass
    return f"{model}, {len(os.sched_getaffinity(0))} cores"
