# make setup | run | sample | test | check | browser | bench [BENCH=name] | doctor | clean
SHELL := /bin/sh
VENV := .venv
PY := $(VENV)/bin/python
NEEDED := 3.11
# The first interpreter that is new enough; choose another by `make setup PYTHON=python3.12`.
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$p; break; }; done)
STAMP := $(VENV)/.setup-$(shell cat requirements.lock pyproject.toml | cksum | cut -d' ' -f1)
PIP := $(PY) -m pip install -qq --disable-pip-version-check
SAMPLE := sample_data
OUT := build/sample

.PHONY: setup run sample test check browser bench doctor clean

setup: $(STAMP)

$(STAMP):
	@if [ -z "$(PYTHON)" ]; then \
		echo "Python $(NEEDED) or newer is needed and none was found. Install it, then run make again:"; \
		echo "    Debian, Ubuntu:  apt-get install python3 python3-venv"; \
		echo "    macOS:           brew install python@3.12"; \
		echo "An interpreter that is not on the search path: make setup PYTHON=/path/to/python3"; exit 1; fi
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
		echo "Python $(NEEDED) or newer is needed; \`$(PYTHON)\` is not. Run: make setup PYTHON=python$(NEEDED)"; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
		echo "The venv module of $(PYTHON) is missing. Install it, then run make again:"; \
		$(PYTHON) -c 'import sys; print("    apt-get install python%d.%d-venv" % sys.version_info[:2])'; exit 1; }
	@echo "1/4  making $(VENV) (about 5 s)"
	@$(PY) -c 'import pip, sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || $(PYTHON) -m venv --clear $(VENV)
	@echo "2/4  installing the packages of requirements.lock (about 2 min the first time)"
	@$(PIP) --require-hashes -r requirements.lock
	@echo "3/4  installing refiner into $(VENV) (about 3 s)"
	@$(PIP) --no-deps --no-build-isolation -e .
	@echo "4/4  filling the compile cache (about 1 min the first time)"
	@$(PY) -m refiner.compile_cache
	@rm -f $(VENV)/.setup-*
	@touch $(STAMP)
	@echo "Set up. Next: make run"

run: setup
	@$(PY) -m refiner app

sample: setup
	@rm -rf $(OUT)
	@$(PY) -m refiner refine --skill $(SAMPLE)/SKILL.md --traces $(SAMPLE)/traces.jsonl \
		--rewards $(SAMPLE)/binary_rewards.json --feedback $(SAMPLE)/feedback.json --out $(OUT) --yes
	@echo
	@echo "The result lies in $(OUT): read $(OUT)/combined/proposed_skill.md and $(OUT)/combined/skill.diff"

check: setup
	@$(PY) -m ruff check .
	@$(PY) -m ruff format --check .
	@$(PY) -m mypy
	@$(VENV)/bin/lint-imports

# The tests need a Chromium. Debian's when this may install it, else the one that Playwright brings.
browser: setup
	@$(PY) -m tests.browser.chromium >/dev/null 2>&1 || test -n "$$CHROMIUM_PATH" || { \
		echo "Getting a Chromium for the browser tests (about 1 min, once)"; \
		if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
			apt-get update -qq && apt-get install -y -qq chromium >/dev/null; \
		else $(PY) -m playwright install chromium; fi; }; \
	$(PY) -m tests.browser.chromium >/dev/null

# As many tests at a time as there are cores, but no more than four; one after another: make test WORKERS=0
WORKERS ?= auto
test: check browser
	@$(PY) -m pytest -n $(WORKERS) --maxprocesses 4 --dist loadgroup

# All of them, or BENCH= one of those that `python -m tests.bench --help` names; several take minutes.
bench: setup
	@$(PY) -m tests.bench $(BENCH)

doctor: setup
	@$(PY) -m refiner doctor

clean:
	@rm -rf build .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
