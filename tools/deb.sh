#!/usr/bin/env bash
# Builds target/debian/tidegate-gateway_VERSION_ARCH.deb. With Rust's target for musl the program is static, and the
# package depends on nothing. PROFILE=dev-release compiles faster.
set -euo pipefail
cd -P "$(dirname "$0")/.."

lacks() { printf 'deb: %s\n' "$*" >&2; exit 77; }

command -v cargo >/dev/null || lacks "cargo was not found"
command -v "${CLANG:-clang}" >/dev/null || lacks "clang was not found; on Debian: apt-get install clang"
cargo deb --version >/dev/null 2>&1 || lacks "cargo-deb was not found; cargo install cargo-deb --locked"

target=$(uname -m)-unknown-linux-musl
profile=${PROFILE:-release}
arguments=(--package tidegate-gateway --profile "$profile" --strip --locked --quiet --output target/debian/)
if [[ -d $(rustc --print sysroot)/lib/rustlib/$target ]]; then
    # Nothing of what is linked has a dependency that cargo-deb could find.
    arguments+=(--target "$target")
else
    printf 'deb: not static; rustup target add %s\n' "$target" >&2
fi
cargo deb "${arguments[@]}"
ls target/debian/*.deb
