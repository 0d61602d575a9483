"""`make sbom`: what the Rust half is made of, as CycloneDX: every package of a Cargo.lock.

Names, versions and hashes come from Cargo.lock, licences and who needs whom from `cargo metadata`.
The same lock file gives the same bytes. Python's half is written by cyclonedx-py.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

from cyclonedx.contrib.license.factories import LicenseFactory
from cyclonedx.model import HashAlgorithm, HashType
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.output.json import JsonV1Dot6
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packageurl import PackageURL


def main(lock: Path, target: Path) -> None:
    """Write the bill of a lock file."""
    known = metadata(lock)
    packages = {(one["name"], one["version"]): one for one in known["packages"]}
    locked = tomllib.loads(lock.read_text(encoding="utf-8"))["package"]
    components = {
        (one["name"], one["version"]): component(one, packages.get((one["name"], one["version"])))
        for one in locked
    }
    bom = Bom(components=components.values())
    bom.metadata.component = Component(
        name="tidegate", type=ComponentType.APPLICATION, bom_ref="tidegate"
    )
    members = [components[key] for key, one in packages.items() if one["source"] is None]
    bom.register_dependency(bom.metadata.component, members)
    by_id = {one["id"]: components[one["name"], one["version"]] for one in known["packages"]}
    for node in known["resolve"]["nodes"]:
        bom.register_dependency(by_id[node["id"]], [by_id[one] for one in node["dependencies"]])
    content = json.loads(JsonV1Dot6(bom).output_as_string())
    # What is random or tells the time would make every bill another one.
    content.pop("serialNumber", None)
    content["metadata"].pop("timestamp", None)
    text = json.dumps(content, indent=2, sort_keys=True) + "\n"
    wrong = JsonStrictValidator(SchemaVersion.V1_6).validate_str(text)
    if wrong is not None:
        sys.exit(f"sbom: {target} would be no CycloneDX: {wrong}")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text, encoding="utf-8")
    print(f"{target}: {len(components)} packages")  # noqa: T201


def metadata(lock: Path) -> Any:  # noqa: ANN401 - JSON
    """What cargo knows of the packages of a lock file."""
    command = ["cargo", "metadata", "--locked", "--format-version", "1", "--manifest-path"]
    done = subprocess.run(  # noqa: S603
        [*command, str(lock.with_name("Cargo.toml"))], stdout=subprocess.PIPE, check=True
    )
    return json.loads(done.stdout)


def component(locked: dict[str, Any], known: dict[str, Any] | None) -> Component:
    """A package; one that no platform of this workspace needs has no metadata."""
    licence = known and known.get("license")
    checksum = locked.get("checksum")
    purl = PackageURL("cargo", None, locked["name"], locked["version"])
    return Component(
        name=locked["name"],
        version=locked["version"],
        type=ComponentType.LIBRARY,
        bom_ref=purl.to_string(),
        purl=purl,
        hashes=[HashType(alg=HashAlgorithm.SHA_256, content=checksum)] if checksum else [],
        licenses=[LicenseFactory().make_from_string(licence)] if licence else [],
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
