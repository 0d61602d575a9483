#!/usr/bin/env bash
# Builds a wheel with the lab's programs, from what `make setup` or `make test` has built:
#
#   tools/wheel.sh FOLDER     write tidegate-*.whl into FOLDER
set -euo pipefail
cd -P "$(dirname "$0")/.."

readonly PROGRAMS=python/tidegate/data/programs

# Two builds at a time in one checkout take each other's library away.
exec 9>target/.wheel.lock
flock 9

profile=release
[[ -f .venv/.native ]] || profile=dev-release

rm -rf "$PROGRAMS"
for program in tidegate-lab tidegate-bpf; do
    [[ -x .venv/bin/$program ]] || continue
    mkdir -p "$PROGRAMS"
    install --strip ".venv/bin/$program" "$PROGRAMS/"
done
VIRTUAL_ENV="$PWD/.venv" .venv/bin/maturin build --profile "$profile" --locked --offline --quiet --out "$1" >&2
