# `make run` and `make test` do all the set-up they need; the second time that takes seconds.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

BIN := .venv/bin
# What was set up is remembered by the time of these files.
RUNTIME := .venv/.runtime
TOOLS := .venv/.tools
NATIVE := .venv/.native
# The engine and the lab as they are quick to compile, with every sum checked: for tests where NATIVE is not there.
CHECKED := .venv/.native-checked
BPF := .venv/.bpf
GATEWAY := .venv/.gateway
# Programs that look at the lock files alone, in an environment of their own.
AUDIT := target/audit-tools
# Maturin and zig, which links for old and other systems.
RELEASE := target/release-tools
ENGINE := Cargo.toml Cargo.lock pyproject.toml $(shell find crates -name '*.rs' -o -name Cargo.toml)
# A venv does not survive the moving of its folder, so a moved checkout is set up anew.
$(shell [ ! -f .venv/.location ] || [ "$$(cat .venv/.location)" = "$(CURDIR)" ] || rm -f $(RUNTIME))
JOBS ?= $(shell nproc)
# Byte code is kept: a fresh process compiles what it imports for longer than most commands run.
unexport PYTHONDONTWRITEBYTECODE
# Seed of property tests: fixed, so that a change is judged by itself. SEED=$RANDOM draws other cases.
SEED ?= 1

.PHONY: help setup native-for-tests wheel release run test test-rust test-python lint format fuzz bench reproduce league fidelity \
	kernels oracle packetdrill test-guest gateway gateway-bars gateway-figure gateway-kernels deb readme pages page report-page web-digests docs site lock \
	sbom audit clean

help: ## print this list
	@sed -nE 's/^([a-z0-9-]+):.*## (.*)/\1\t\2/p' Makefile | expand -t 16

setup: $(TOOLS) $(NATIVE) $(BPF) $(GATEWAY) ## install everything that the other targets need into .venv
	@echo "ready: $(BIN)/tidegate --help"

$(RUNTIME): requirements.lock tools/setup.sh
	@tools/setup.sh runtime
	@touch $@

$(TOOLS): requirements-dev.lock $(RUNTIME)
	@tools/setup.sh tools
	@touch $@

$(NATIVE): $(ENGINE) $(RUNTIME)
	@rm -f $(CHECKED)
	@tools/setup.sh native release
	@touch $@

$(CHECKED): $(ENGINE) $(RUNTIME)
	@rm -f $(NATIVE)
	@tools/setup.sh native dev-release
	@touch $@

# Either, where it is in step.
native-for-tests: $(RUNTIME)
	@$(MAKE) --question $(NATIVE) 2>/dev/null || $(MAKE) --no-print-directory $(CHECKED)

# Without clang these two build nothing and leave no stamp, so that a later call builds them.
$(BPF): $(wildcard bpf/*.[ch] crates/bpf/* crates/bpf/src/*) $(RUNTIME)
	@tools/setup.sh bpf
	@! test -x $(BIN)/tidegate-bpf || touch $@

$(GATEWAY): $(wildcard bpf/gateway/* crates/gateway/*.* crates/gateway/src/* crates/gateway/page/* web/src/style.css) \
		$(filter crates/mechanisms/% crates/scenario/%,$(ENGINE))
	@mkdir -p .venv
	@tools/setup.sh gateway
	@! test -x $(BIN)/tidegate-gateway || touch $@

$(AUDIT)/.installed: requirements-audit.lock $(RUNTIME)
	@tools/setup.sh audit
	@touch $@

wheel: $(NATIVE) $(BPF) ## build target/wheels/tidegate-*.whl, which needs no checkout
	@tools/wheel.sh target/wheels
	@ls target/wheels/*.whl

$(RELEASE)/.installed: requirements-release.lock $(RUNTIME)
	@tools/setup.sh release
	@touch $@

release: $(NATIVE) $(BPF) $(RELEASE)/.installed sbom ## build dist/: wheels, sources, page, checksums (minutes)
	@tools/release.sh

run: $(NATIVE) ## simulate a congested link with and without ABC
	@$(BIN)/tidegate simulate scenarios/evening-peak.toml \
		--against bottleneck.differentiation.kind=none --plot

test: ## run all tests
	@# Python's packages are installed beside Rust's tests.
	@$(MAKE) --no-print-directory --jobs=2 test-rust $(TOOLS) native-for-tests $(BPF) $(GATEWAY)
	@$(MAKE) --no-print-directory test-python

test-rust:
	PROPTEST_RNG_SEED=$(SEED) cargo test --workspace --locked --profile dev-release
	! test -x $(BIN)/tidegate-bpf || cargo test --manifest-path crates/bpf/Cargo.toml \
		--target-dir target/bpf --release --locked --quiet

test-guest: $(NATIVE) ## run the lab's tests as root in a stock kernel, without root; error 77 without target/kernels
	cargo test --package tidegate-lab --test main --locked --profile dev-release \
		--config "target.'cfg(all())'.runner = ['$(CURDIR)/$(BIN)/python', '$(CURDIR)/tools/in_guest.py']"

test-python: $(TOOLS) native-for-tests $(BPF) $(GATEWAY)
	@# Three more than cores: tests of the gateway and two kinds of the lab's wait for time to pass.
	$(BIN)/pytest -n $$(($(JOBS) + 3)) --dist loadgroup --hypothesis-seed=$(SEED)

lint: $(TOOLS) native-for-tests ## check formatting, clippy, ruff, mypy, stubs and spelling
	cargo fmt --all --check
	cargo fmt --manifest-path fuzz/Cargo.toml --check
	cargo fmt --manifest-path crates/bpf/Cargo.toml --check
	cargo clippy --workspace --all-targets --locked --quiet -- --deny warnings
	! test -x $(BIN)/tidegate-bpf || cargo clippy --manifest-path crates/bpf/Cargo.toml \
		--target-dir target/bpf --all-targets --release --locked --quiet -- --deny warnings
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/stubtest --concise tidegate._native
	$(BIN)/typos

format: $(TOOLS) ## format the sources as lint asks for
	cargo fmt --all
	cargo fmt --manifest-path fuzz/Cargo.toml
	cargo fmt --manifest-path crates/bpf/Cargo.toml
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

# Seconds for each fuzz target.
FUZZ_SECONDS ?= 600

fuzz: ## fuzz parsers of packets, scenarios and settings (nightly Rust, cargo-fuzz; FUZZ_SECONDS=600)
	for target in $$(cargo +nightly fuzz list); do \
		mkdir -p fuzz/corpus/$$target; \
		seeds=; \
		case $$target in scenario) seeds="scenarios sweeps" ;; packetdrill) seeds=tests/packetdrill ;; esac; \
		cargo +nightly fuzz run $$target fuzz/corpus/$$target $$seeds -- \
			-max_total_time=$(FUZZ_SECONDS) -timeout=30 -print_final_stats=1; \
	done

bench: $(RUNTIME) ## measure the engine's speed (beside ns-2 where installed); writes target/bench.json
	cargo build --release --locked --quiet --package tidegate-bench
	$(BIN)/python bench/run.py
	$(BIN)/python bench/analysis.py

reproduce: $(NATIVE) ## reproduce every paper; writes studies/*/RESULTS.md and figures
	$(BIN)/tidegate reproduce --report

league: $(NATIVE) ## compare all mechanisms in all situations; writes studies/league/RESULTS.md
	$(BIN)/tidegate reproduce league --report --check $(ARGS)

fidelity: $(NATIVE) ## compare the simulator with real Linux and ns-2; writes studies/fidelity/RESULTS*.md
	$(BIN)/tidegate reproduce fidelity --report $(ARGS)

kernels: $(NATIVE) ## stock Debian kernels for `tidegate lab --kernel`, in target/kernels; error 77 where something is missing
	@$(BIN)/python tools/kernels.py $(ARGS)

oracle: $(NATIVE) ## compare AQMs with the kernel's, packet by packet (tools/linux-oracle); writes docs/linux-oracle.md
	PYTHONPATH=tests $(BIN)/python -m linux_oracle $(ARGS)

packetdrill: ## run packetdrill scripts against the simulated end host (SCRIPTS=FOLDER)
	cargo run --profile dev-release --locked --quiet --package tidegate-packetdrill -- \
		$(if $(JSON),--json $(JSON)) $(SCRIPTS)

page: ## build the pages of `tidegate explore` and `report` (node, npm, Rust's wasm32-unknown-unknown); error 77 where something is missing
	@python3 tools/page.py

report-page: ## build the page of `tidegate report` alone (node, npm); error 77 where something is missing
	@python3 tools/page.py report

web-digests: $(NATIVE) ## compare digests in WebAssembly with native ones, all scenarios; error 77 as above
	@$(BIN)/python tools/web_digests.py $(ARGS)

gateway: $(GATEWAY) ## build .venv/bin/tidegate-gateway, where clang is there
	@test -x $(BIN)/tidegate-gateway && echo "$(BIN)/tidegate-gateway"

deb: ## build target/debian/tidegate-gateway_*.deb (clang, cargo-deb); error 77 where something is missing
	@tools/deb.sh

gateway-bars: $(TOOLS) $(GATEWAY) ## measure the gateway in network namespaces (root, minutes; ARGS=--help)
	PYTHONPATH=tests $(BIN)/python -m gateway.bars $(ARGS)

gateway-figure: $(TOOLS) $(NATIVE) $(GATEWAY) ## the gateway beside fq_codel and CAKE when the link falls, on a stock kernel (make kernels; minutes)
	PYTHONPATH=tests $(BIN)/python -m gateway.figure

gateway-kernels: $(TOOLS) $(NATIVE) $(GATEWAY) ## the gateway on every stock kernel: observe, enforce, kill, off (make kernels; minutes)
	PYTHONPATH=tests $(BIN)/python -m gateway.kernels

readme: $(TOOLS) $(NATIVE) ## update README's numbers from the pages above
	UPDATE=1 $(BIN)/pytest --quiet tests/docs/test_readme.py

pages: ## write schema, reference and mechanism pages after a change of declarations
	UPDATE=1 cargo test --quiet --locked --profile dev-release --package tidegate-scenario --lib reference::
	UPDATE=1 cargo test --quiet --locked --profile dev-release --package tidegate-scenario --test main files::
	TIDEGATE_WRITE_PAGES=1 cargo test --quiet --locked --profile dev-release --package tidegate-mechanisms \
		--test main pages::pages_are_in_step

docs: $(TOOLS) $(NATIVE) ## build docs/_build/html/index.html
	TIDEGATE_WRITE_PAGES=1 cargo test --quiet --locked --profile dev-release \
		--package tidegate-mechanisms --test main pages::
	$(BIN)/sphinx-build --builder html --fail-on-warning --keep-going --quiet -c docs . docs/_build/html
	@$(BIN)/python tools/dead_links.py docs/_build/html
	@echo "docs/_build/html/index.html"

site: page $(TOOLS) $(NATIVE) ## build target/site, ready to be hosted: documentation, results, and the page beside and within it
	$(BIN)/sphinx-build --builder html --fail-on-warning --keep-going --quiet -D try_it=1 -c docs . target/site
	@$(BIN)/python tools/dead_links.py target/site
	@echo "target/site/index.html"

SBOM := target/sbom

sbom: $(AUDIT)/.installed ## write target/sbom/*.cdx.json: the locked dependencies, as CycloneDX
	@mkdir -p $(SBOM)
	@for lock in requirements requirements-dev; do \
		$(AUDIT)/bin/python -W ignore::UserWarning -m cyclonedx_py requirements $$lock.lock --pyproject pyproject.toml \
			--output-reproducible --spec-version 1.6 --output-file $(SBOM)/$$lock.cdx.json; \
		echo "$(SBOM)/$$lock.cdx.json"; \
	done
	@$(AUDIT)/bin/python tools/sbom.py Cargo.lock $(SBOM)/cargo.cdx.json

audit: $(AUDIT)/.installed ## check locked dependencies for known vulnerabilities; exit code 77 without a database
	@$(AUDIT)/bin/python tools/audit.py $(AUDIT)/bin

# The lock files carry names, versions and hashes, and no host: any mirror will do.
COMPILE := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--no-header --no-annotate --no-emit-index-url --no-emit-find-links
LOCK := $(COMPILE) pyproject.toml --extra analysis --extra figures --extra dask --group build

lock: $(TOOLS) ## update the Python lock files to the newest versions that pyproject.toml allows
	$(LOCK) --upgrade --output-file requirements.lock
	$(LOCK) --upgrade --group checks --constraints requirements.lock --output-file requirements-dev.lock
	$(COMPILE) --upgrade --group audit --output-file requirements-audit.lock
	$(COMPILE) --upgrade --group release --output-file requirements-release.lock

clean: ## remove everything built or installed (not results/)
	rm -rf target fuzz/target .venv docs/_build dist python/tidegate/*.so python/tidegate/data/{page,programs} web/node_modules
	find . -name __pycache__ -not -path './.git/*' -prune -exec rm -rf {} +
