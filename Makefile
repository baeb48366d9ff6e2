# Needs Python 3.11 or newer with pip, and make. Everything else is installed into .venv.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALL_WITH_UV := $(BIN)/uv pip install --quiet --python $(BIN)/python
INSTALL_WITH_PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-input
COMPILE := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
  --no-header --no-emit-index-url --no-annotate $(UPGRADE)

# What a developer's shell may carry and must not reach the environment built here.
unexport PYTHONPATH PYTHONHOME PYTHONSTARTUP PYTHONDONTWRITEBYTECODE VIRTUAL_ENV CONDA_PREFIX
unexport PIP_TARGET PIP_PREFIX PIP_ROOT PIP_CONSTRAINT PIP_REQUIRE_VIRTUALENV PIP_NO_DEPS PIP_PYTHON
unexport UV_SYSTEM_PYTHON UV_PYTHON UV_PROJECT_ENVIRONMENT UV_CONSTRAINT UV_OVERRIDE UV_EXCLUDE_NEWER
export PIP_USER := 0
# uv reads no pip settings: hand it the mirror that pip was told to use.
ifdef PIP_INDEX_URL
export UV_DEFAULT_INDEX ?= $(PIP_INDEX_URL)
endif

# A virtual environment holds absolute paths: one that was copied or moved is built again.
ifneq ($(shell cat $(VENV)/.home 2>/dev/null),$(CURDIR))
.PHONY: $(VENV)/.home
endif

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup run test test-fast test-second test-compiled test-deep test-defects test-faults lint format types known-answer openapi openapi-drift bench check lock clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

setup: $(VENV)/.installed-dev $(VENV)/.installed-generators $(VENV)/.installed-node ## Install everything needed to develop into .venv

run: $(VENV)/.installed ## Serve the demo on this machine (ARGS="--port 9000" adds options)
	@exec $(BIN)/postern serve --demo $(ARGS)

# Nothing an earlier run left behind is read: no cache here, and an empty home (tests/empty_home.py). The order of tests
# is random, its seed is printed; one worker gets a contiguous half of it, and takes over from the other when it is done.
PYTEST = $(if $(call given,DATE),tests/at_date "$(DATE)") $(BIN)/pytest -n $(if $(call given,WORKERS),$(WORKERS),2) --dist worksteal -q -p no:cacheprovider \
  $(if $(call given,SEED),--order-seed $(SEED))
# Said to make itself: variables of these names in somebody's shell mean something else.
given = $(findstring command line,$(origin $1))

test: setup ## Run the suite on SQLite and on throw-away PostgreSQL and Redis (SEED=7 repeats an order; ARGS adds options)
	$(PYTEST) $(ARGS)

test-fast: setup ## Run one case of every test that needs no servers and is not slow: what is worth running while writing
	$(PYTEST) -m $(QUICK) --one-of-each $(ARGS)

QUICK := "not slow and not deep and not servers"
# On a second Python: one case of each, and every case of the expressions users write.
test-second: $(VENV)/.installed-dev
	$(PYTEST) -m $(QUICK) --one-of-each --every-case-below tests/core/decisions $(ARGS)

# Once, before several workers would each compile the same modules at the same time.
test-compiled: $(VENV)/.installed-dev
	@$(BIN)/pytest --collect-only -qq -p no:cacheprovider > $(VENV)/collected.txt || { tail -n 40 $(VENV)/collected.txt; exit 1; }

test-defects: setup ## Put defects into a copy of the sources, one at a time, and see that the suite notices each
	$(BIN)/python -m tests.defects.run $(ARGS)

test-deep: setup ## Run what make test only samples: exhaustive versions, 200 rounds of faults, 1,000 sequences an engine
test-faults: setup ## Run the faults of test-deep alone (FAULT_SEED=7 repeats a run; ARGS adds options)
test-deep: MARKS := deep or faults
test-faults: MARKS := faults
test-deep test-faults:
	@seed=$${FAULT_SEED:-$$(date +%s)}; echo "FAULT_SEED=$$seed"; \
	POSTERN_FAULT_ROUNDS=$${POSTERN_FAULT_ROUNDS:-200} POSTERN_FAULT_SEED=$$seed \
	POSTERN_FAULT_SEQUENCES=$${POSTERN_FAULT_SEQUENCES:-1000} \
	$(PYTEST) -rP -m "$(MARKS)" $(ARGS)

lint: setup ## Check style, formatting and the direction of imports
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python client/write_blocking.py --check
	$(BIN)/lint-imports

format: setup ## Rewrite the code in house format, and the blocking client from the asyncio one
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .
	$(BIN)/python client/write_blocking.py

types: setup ## Check types (mypy --strict)
	$(BIN)/mypy

known-answer: setup ## Write what starts expect of draws from known bytes, after grids were changed on purpose
	$(BIN)/python -m tests.write_known_answer

openapi: setup ## Write openapi/openapi.json from the application
	@mkdir -p openapi
	$(BIN)/postern openapi --output openapi/openapi.json

openapi-drift: setup
	@fresh=$$(mktemp -d) && trap 'rm -rf "$$fresh"' EXIT && \
	$(BIN)/postern openapi --output "$$fresh/openapi.json" && \
	diff -u openapi/openapi.json "$$fresh/openapi.json" || \
	{ echo "openapi/openapi.json is not what the application says: run 'make openapi'" >&2; exit 1; }

bench: setup ## Run every benchmark, one after the other, and refresh docs/benchmarks.md (ARGS="accuracy" for one)
	$(BIN)/python -m benchmarks.run_all $(ARGS)

check: lint types openapi-drift ## Everything the build checks: lint, types, specification, whole suite
	@$(MAKE) --no-print-directory test

lock: $(VENV)/.bootstrapped ## Pin dependencies again (UPGRADE=--upgrade for newer ones)
	$(COMPILE) pyproject.toml --extra exports -o requirements.lock
	$(COMPILE) pyproject.toml --group dev -c requirements.lock -o requirements-dev.lock
	$(COMPILE) tests/client/generated/requirements.in -o tests/client/generated/requirements.lock
	printf 'editables\nhatchling\nuv\n' | $(COMPILE) - -c requirements-dev.lock -o requirements-build.lock

clean: ## Remove the virtual environment and caches; data in .postern stays
	rm -rf $(VENV) dist build client/dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis .schemathesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/.home:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	{ echo "Postern needs Python 3.11 or newer; '$(PYTHON)' is not. Try: make PYTHON=python3.12 ..." >&2; exit 1; }
	@echo "creating $(VENV)"
	@$(PYTHON) -m venv --clear $(VENV) 2>/dev/null || { \
	  $(PYTHON) -m venv --clear --without-pip $(VENV) && \
	  $(PYTHON) -m pip --python $(BIN)/python install --quiet --disable-pip-version-check --no-input pip; \
	} || { echo "neither ensurepip nor pip works for '$(PYTHON)': install pip (Debian: python3-venv)" >&2; exit 1; }
	@printf '%s' '$(CURDIR)' > $@

# uv is only a faster installer; without a wheel of it for this machine, pip reads the same lock files.
$(VENV)/.bootstrapped: $(VENV)/.home requirements-build.lock
	@$(INSTALL_WITH_PIP) --only-binary :all: --require-hashes -r requirements-build.lock || \
	echo "uv is not available here: using pip, which takes a minute or two" >&2
	@touch $@

$(VENV)/.installed: $(VENV)/.bootstrapped requirements.lock pyproject.toml
	@echo "installing what Postern runs on"
	@if test -x $(BIN)/uv && $(INSTALL_WITH_UV) --require-hashes -r requirements.lock; then \
	  $(INSTALL_WITH_UV) --no-build-isolation --no-deps -e .; \
	else \
	  $(INSTALL_WITH_PIP) --require-hashes -r requirements-dev.lock && \
	  $(INSTALL_WITH_PIP) --no-build-isolation --no-deps -e .; \
	fi
	@touch $@

$(VENV)/.installed-dev: $(VENV)/.installed requirements-dev.lock
	@echo "installing the development tools"
	@if test -x $(BIN)/uv && $(INSTALL_WITH_UV) --require-hashes -r requirements-dev.lock; then :; else \
	  $(INSTALL_WITH_PIP) --require-hashes -r requirements-dev.lock; \
	fi
	@touch $@

# Other people's generators of clients, which tests run on openapi.json: their requirements do not fit beside ours.
$(VENV)/.installed-generators: $(VENV)/.bootstrapped tests/client/generated/requirements.lock
	@echo "installing generators of clients"
	@$(BIN)/python -m venv --clear --without-pip $(VENV)/generators
	@if test -x $(BIN)/uv && $(BIN)/uv pip install --quiet --python $(VENV)/generators/bin/python --require-hashes -r tests/client/generated/requirements.lock; then :; else \
	  $(BIN)/python -m pip --python $(VENV)/generators/bin/python install --quiet --disable-pip-version-check --no-input --require-hashes -r tests/client/generated/requirements.lock; \
	fi
	@touch $@

$(VENV)/.installed-node: $(VENV)/.home tests/client/generated/package-lock.json
	@if command -v npm > /dev/null; then npm ci --loglevel error --no-audit --no-fund --prefix tests/client/generated > /dev/null; \
	else echo "node is not installed: the test of a TypeScript client will be skipped" >&2; fi
	@touch $@
