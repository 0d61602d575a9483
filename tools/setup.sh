#!/usr/bin/env bash
# Sets up what the Makefile asks for, one step a call:
#
#   tools/setup.sh runtime    .venv with the locked packages that tidegate runs on
#   tools/setup.sh tools      and those that test, check and document it
#   tools/setup.sh audit      those that look at the lock files, in target/audit-tools
#   tools/setup.sh release    and those that link wheels, in target/release-tools
#   tools/setup.sh native     compile the engine and the lab into .venv and install the command;
#                             `native dev-release` as tests have them: quick to compile, checked
#   tools/setup.sh bpf        and tidegate-bpf, where there is what it takes (never fails)
#   tools/setup.sh gateway    and tidegate-gateway, where there is clang (never fails)
#
# Needs no root and writes only below the checkout (and cargo's and pip's caches).
set -euo pipefail
cd -P "$(dirname "$0")/.."

readonly VENV=.venv
readonly AUDIT=target/audit-tools
readonly RELEASE=target/release-tools
readonly RUST_NEEDED=1.95

say() { printf '\033[1m==>\033[0m %s\n' "$*" >&2; }
die() { printf 'setup: %s\n' "$*" >&2; exit 1; }

# The first Python that is new enough; PYTHON=... overrides.
find_python() {
    local candidate
    for candidate in ${PYTHON:-python3 python3.11 python3.12 python3.13 python3.14}; do
        if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            echo "$candidate"
            return
        fi
    done
    die "Python 3.11 or newer is needed (looked for ${PYTHON:-python3, python3.11 to python3.14}); name one with PYTHON=/path/to/python3 make setup"
}

# A checkout that was moved or whose Python was removed leaves a venv that does not start.
venv_works() { [[ -f $VENV/.location && $(<"$VENV/.location") == "$PWD" ]] && "$VENV/bin/python" -m pip --version >/dev/null 2>&1; }

make_venv() {
    venv_works || new_venv "$VENV"
}

new_venv() {
    local python
    python=$(find_python)
    say "creating $1 with $("$python" --version)"
    rm -rf "$1"
    if ! "$python" -m venv "$1"; then
        rm -rf "$1"
        die "'$python -m venv' failed; on Debian: apt-get install python3-venv"
    fi
    echo "$PWD" >"$1/.location"
}

# A lock file, and the environment.
install_locked() {
    say "installing the packages of $1"
    "${2:-$VENV}/bin/python" -m pip install --quiet --disable-pip-version-check --no-input --no-compile \
        --require-hashes --only-binary :all: --requirement "$1" ||
        die "could not install the packages of $1; the first set-up needs the network (or a pip cache)"
}

check_rust() {
    command -v cargo >/dev/null || die "cargo was not found; Rust $RUST_NEEDED or newer is needed"
    local have
    have=$(rustc --version | cut -d' ' -f2)
    [[ $(printf '%s\n' "$RUST_NEEDED" "$have" | sort -V | head -n1) == "$RUST_NEEDED" ]] ||
        die "Rust $RUST_NEEDED or newer is needed; this is $have"
    command -v cc >/dev/null || die "a C linker (cc) is needed; on Debian: apt-get install gcc libc6-dev"
}

build_native() {
    local -r profile=$1
    check_rust
    cargo fetch --locked --quiet ||
        die "could not fetch the Rust packages of Cargo.lock; the first build needs the network"
    say "compiling the engine (a minute or two the first time)"
    PIP_QUIET=1 VIRTUAL_ENV="$PWD/$VENV" "$VENV/bin/maturin" develop --profile "$profile" --locked --offline --quiet >&2 ||
        die "the engine did not compile"
    [[ $(uname -s) == Linux ]] || return 0
    say "compiling the lab"
    static_program "$profile" --package tidegate-lab --bin tidegate-lab --offline || die "the lab did not compile"
    install "target/$profile/tidegate-lab" "$VENV/bin/"
}

# Linked statically where the libraries allow it: a wheel takes these programs to other systems.
static_program() {
    local -r profile=$1
    shift
    cargo rustc --profile "$profile" --locked --quiet "$@" -- -C target-feature=+crt-static 2>/dev/null ||
        cargo rustc --profile "$profile" --locked --quiet "$@"
}

# What the congestion control of our own takes and is not here.
bpf_lacks() {
    local -a lacking=()
    command -v "${CLANG:-clang}" >/dev/null || lacking+=(clang)
    command -v make >/dev/null || lacking+=(make)
    has_header gelf.h || lacking+=(libelf-dev)
    has_header zlib.h || lacking+=(zlib1g-dev)
    echo "${lacking[*]}"
}

has_header() { cc -E -include "$1" -x c /dev/null >/dev/null 2>&1; }

build_bpf() {
    [[ $(uname -s) == Linux ]] || return 0
    check_rust
    local lacking
    lacking=$(bpf_lacks)
    if [[ -n $lacking ]]; then
        say "without congestion control sbrm in the lab; it takes (on Debian): apt-get install $lacking"
    elif static_program release --manifest-path crates/bpf/Cargo.toml --target-dir target/bpf; then
        install target/bpf/release/tidegate-bpf "$VENV/bin/"
    else
        say "without congestion control sbrm in the lab: crates/bpf did not compile"
    fi
}

build_gateway() {
    [[ $(uname -s) == Linux ]] || return 0
    check_rust
    if ! command -v "${CLANG:-clang}" >/dev/null; then
        say "without the gateway; it takes (on Debian): apt-get install clang"
    elif cargo build --package tidegate-gateway --profile dev-release --locked --quiet; then
        # As the tests have it: the data plane is the kernel's, and a checked loop costs nothing.
        install target/dev-release/tidegate-gateway "$VENV/bin/"
    else
        say "without the gateway: crates/gateway did not compile"
    fi
}

case ${1:-} in
    runtime) make_venv && install_locked requirements.lock ;;
    tools) make_venv && install_locked requirements-dev.lock ;;
    audit) new_venv "$AUDIT" && install_locked requirements-audit.lock "$AUDIT" ;;
    release) new_venv "$RELEASE" && install_locked requirements-release.lock "$RELEASE" ;;
    native) build_native "${2:-release}" ;;
    bpf) build_bpf ;;
    gateway) build_gateway ;;
    *) die "which step: runtime, tools, audit, release, native, bpf or gateway?" ;;
esac
