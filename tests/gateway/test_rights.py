"""The control loop with the two capabilities that its unit gives it, and no more."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from gateway.box import PROGRAM, Box, lacking, needing

LACKING = lacking()
if not shutil.which("setpriv"):
    LACKING.append("setpriv")
pytestmark = needing(LACKING)
NOBODY = 65534


@pytest.mark.parametrize("attach", ["tcx", "clsact"])
def test_two_capabilities_are_enough(attach: str) -> None:
    rights = "-all,+bpf,+net_admin"
    with Box() as box:
        folder = Path(box.pins[1]).parent
        # What `prepare` does, in the box's own folder, which nobody else may enter.
        folder.mkdir()
        subprocess.run(["mount", "-t", "bpf", "bpf", folder], check=True)
        (folder / "tidegate").mkdir()
        program = folder.parent / "gateway"
        shutil.copy(PROGRAM, program)
        for path in (folder.parent, folder, folder / "tidegate"):
            os.chown(path, NOBODY, NOBODY)
        command = box.command(
            "g", "setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups",
            f"--inh-caps={rights}", f"--ambient-caps={rights}", f"--bounding-set={rights}",
            program, "enforce", "c0", "--uplink", "u0", "--attach", attach, *box.pins,
        )  # fmt: skip
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
            try:
                assert process.stderr
                assert process.stderr.readline().startswith("enforce: customers at c0")
                assert box.status(0.2)["control_loop"]
                assert box.gateway("off").startswith("off: the programs")
            finally:
                process.kill()
