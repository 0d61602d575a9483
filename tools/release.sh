#!/usr/bin/env bash
# Builds a release into dist/: the source distribution, wheels built from it, the page, the engine
# as WebAssembly, lists of dependencies, and SHA256SUMS.
#
# Wheels are linked by zig against an old C library, so that they run on systems from 2014 on. That
# for aarch64 is built where Rust has the target aarch64-unknown-linux-gnu, and has no programs of
# the lab. The page and the engine are left out, with a line that says so, where they are not built.
set -euo pipefail
cd -P "$(dirname "$0")/.."

readonly DIST=dist WORK=target/release-work TOOLS=target/release-tools
say() { printf '\033[1m==>\033[0m %s\n' "$*" >&2; }

rm -rf "$DIST" "$WORK"
mkdir -p "$DIST" "$WORK"

say "source distribution"
.venv/bin/maturin sdist --quiet --out "$DIST" 2>/dev/null || .venv/bin/maturin sdist --out "$DIST" >&2
tar --extract --gzip --file "$DIST"/tidegate-*.tar.gz --directory "$WORK"
unpacked=$(echo "$PWD/$WORK"/tidegate-*)

# The source has the crates of the engine alone; cargo drops the others from its Cargo.lock.
wheel() {
    (cd "$unpacked" && PATH="$OLDPWD/$TOOLS/bin:$PATH" CARGO_TARGET_DIR="$OLDPWD/target/release-build" \
        maturin build --release --offline --zig --compatibility manylinux_2_17 --quiet --out "$OLDPWD/$DIST" "$@" >&2)
}

machine=$(uname -m)
say "wheel for $machine"
mkdir -p "$unpacked/python/tidegate/data/programs"
for program in tidegate-lab tidegate-bpf; do
    [[ ! -x .venv/bin/$program ]] || install --strip ".venv/bin/$program" "$unpacked/python/tidegate/data/programs/"
done
wheel --target "$machine-unknown-linux-gnu"
rm -r "$unpacked/python/tidegate/data/programs"

for other in x86_64 aarch64; do
    [[ $other != "$machine" ]] || continue
    if rustup target list --installed 2>/dev/null | grep -qx "$other-unknown-linux-gnu"; then
        say "wheel for $other"
        wheel --target "$other-unknown-linux-gnu"
    else
        say "no wheel for $other: rustup target add $other-unknown-linux-gnu"
    fi
done

page=python/tidegate/data/page/tidegate.html
engine=target/wasm32-unknown-unknown/web/tidegate_web.wasm
for file in "$page" "$engine"; do
    if [[ -f $file ]]; then cp "$file" "$DIST/"; else say "without $(basename "$file"): \`make page\` builds it"; fi
done
cp target/sbom/*.cdx.json "$DIST/"
(cd "$DIST" && sha256sum -- * >../"$WORK"/sums && mv ../"$WORK"/sums SHA256SUMS)
ls -l "$DIST" >&2
