"""The paragraph for the public: of the settings, and of the gateway that runs."""

import json

from gateway.box import Box, lacking, needing

pytestmark = needing(lacking())


def test_what_is_published_is_what_runs() -> None:
    with Box() as box:
        heavy, light = (box.address(name, "ipv4") for name in ("heavy", "light"))
        rows = f"heavy,{heavy},50 kb/s,10 Mb/s\nlight,{light},200 kb/s,\n"
        path = box.file("customers.csv", f"id,addresses,reference_rate,ceiling\n{rows}")
        configured = box.gateway("explain", "--public")
        words = ["--set", f'customer_file="{path}"', "--set", "abc.gamma=1.0"]
        words += ["--set", 'upload.target="20 ms"', "--set", 'upload.kind="own-queue"']
        with box.control_loop("observe", *words):
            # The settings of the loop count, not those of this command.
            observed = box.gateway("explain", "--public")
            box.gateway("enforce")
            enforced = json.loads(box.gateway("explain", "--public", "--format", "json"))
    assert "the same for all" in configured
    assert "wait longer than 15 ms" in configured
    for part in ("only measured", "from 50 kb/s to 200 kb/s by contract", "γ = 1",
                 "uploads wait longer than 20 ms", "One customer has a ceiling",
                 "one of 2 in the operator's list"):  # fmt: skip
        assert part in observed, (part, observed)
    assert (enforced["mode"], enforced["gamma"], enforced["ceilings"]) == ("enforce", 1.0, 1)
    assert enforced["upload"] == {"signal": "own-queue", "target_s": 0.02}
    assert "only measured" not in enforced["text"]
    assert "heavy" not in enforced["text"]
