# make demo   a fresh clone to a page full of samples
# make test   everything that must hold, on a fresh machine too
# make bench  how fast it is
# make fe     the pages only
# make docs   the documentation as a site with pictures, in site/
# make dist   wheel and sdist, tried in clean environments

PYTHON ?= python3
VENV ?= .venv
PORT ?= 6006
LOGDIR ?= samples

BIN := $(VENV)/bin
# One more than cores, as some tests wait; four at most, for their memory.
TEST_PROCESSES := $(shell test "$$(nproc 2>/dev/null || echo 2)" -gt 2 && echo 4 || echo 3)
PAGES := torch_tb_profiler/static/index.html
FE_SOURCES := $(shell find fe -type f -not -path '*/node_modules/*' -not -path 'fe/e2e/*' \
	-not -path 'fe/test-results/*' -not -path 'fe/playwright-report/*' 2>/dev/null)
# The compiled decoder; built where cargo is, by the installation.
NATIVE_SOURCES := native/Cargo.toml $(wildcard native/src/*.rs)
NODE_HINT := The pages need Node 20.19 or newer with npm: https://nodejs.org
# The shell has no windows, and takes a quarter less of the processor.
BROWSERS := $(addprefix /usr/bin/,chromium-headless-shell chromium chromium-browser google-chrome)
# Looked for at each use, as it may have been installed meanwhile.
CHROMIUM = $(firstword $(shell ls -U $(BROWSERS) 2>/dev/null))

# Hundreds of processes start in the tests: each would compile this package again.
export PYTHONDONTWRITEBYTECODE :=
export PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD := 1
export npm_config_audit := false
export npm_config_fund := false
export npm_config_update_notifier := false

.PHONY: demo test bench fe docs pictures dist schema lint python-tests fe-tests e2e clean

demo: $(VENV)/.installed $(PAGES)
	@echo
	@echo "TensorBoard with the samples: http://localhost:$(PORT)/#pytorch_profiler   (Ctrl-C ends it)"
	@echo
	@$(BIN)/tensorboard --logdir $(LOGDIR) --port $(PORT)

# What is quick comes first, for it fails most often, and side by side, as the environments are made.
test:
	$(MAKE) --jobs=2 --output-sync=target lint fe-tests fe $(VENV)/.installed-torch
	$(MAKE) python-tests
	$(MAKE) e2e
	@echo "All tests passed."

lint: $(VENV)/.installed-test
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/mypy --exclude 'bench/(agent|cluster|diagnosis|programs)' tools bench
	$(BIN)/mypy --explicit-package-bases bench/agent bench/cluster bench/diagnosis
	$(BIN)/mypy --explicit-package-bases tests
	$(BIN)/lint-imports
	$(BIN)/python tools/generate_schema.py --check

python-tests: $(VENV)/.installed-test $(VENV)/.installed-torch $(PAGES)
	$(BIN)/pytest -n $(TEST_PROCESSES) --dist worksteal -m "not alone"
	$(BIN)/pytest -n 2 --dist worksteal -m alone

fe-tests: fe/node_modules/.package-lock.json
	cd fe && npm run typecheck
	cd fe && npm run lint
	cd fe && npm test

e2e: $(VENV)/.installed-test $(PAGES) chromium
	cd fe && PROFILER_BIN="$(abspath $(BIN))" CHROMIUM="$(CHROMIUM)" npm run e2e

bench: $(VENV)/.installed-test
	$(BIN)/python bench/ingest.py

fe: $(PAGES)

# Pictures need the browser of the tests and npm; without either the site is built without them.
docs: $(VENV)/.installed-docs $(if $(CHROMIUM),$(if $(shell command -v npm),pictures))
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build
	@echo "Open $(abspath site/index.html)"

pictures: $(VENV)/.installed $(PAGES)
	rm -rf site-pictures
	cd fe && PROFILER_BIN="$(abspath $(BIN))" CHROMIUM="$(CHROMIUM)" \
		npx playwright test --config e2e/pictures.config.ts

schema: $(VENV)/.installed-test
	$(BIN)/python tools/generate_schema.py

dist: $(VENV)/.installed-test $(PAGES)
	rm -rf build dist
	$(BIN)/python -m build
	TORCH_TB_PROFILER_SKIP_NATIVE=1 $(BIN)/python -m build --wheel
	$(BIN)/python tools/try_packages.py dist

# The environment. Editable: what runs is what stands here, with the pages made by `make fe`.
$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { \
		echo "Python 3.10 or newer is needed; name one with make PYTHON=python3.12 …"; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml setup.py $(NATIVE_SOURCES) | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(VENV)/.installed-test: pyproject.toml setup.py $(NATIVE_SOURCES) | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --editable '.[test,cloud-test,dist]'
	@touch $@ $(VENV)/.installed

$(VENV)/.installed-docs: pyproject.toml | $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	@touch $@

# What is recorded, for the tests of the recorder. Without a GPU the CPU build will do:
# PIP_EXTRA_INDEX_URL=https://download.pytorch.org/whl/cpu has it.
$(VENV)/.installed-torch: pyproject.toml | $(VENV)/.installed-test
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --editable '.[record-test,notebook-test]'
	@touch $@

fe/node_modules/.package-lock.json: fe/package.json fe/package-lock.json
	@command -v node >/dev/null && command -v npm >/dev/null || { echo "$(NODE_HINT)"; exit 1; }
	cd fe && npm ci
	@touch $@

$(PAGES): fe/node_modules/.package-lock.json $(FE_SOURCES)
	cd fe && npm run build
	@touch $@

.PHONY: chromium
chromium:
ifeq ($(CHROMIUM),)
	@command -v apt-get >/dev/null || { \
		echo "The browser tests need Chromium at /usr/bin/chromium; please install it."; exit 1; }
	$(if $(filter 0,$(shell id -u)),,sudo) sh -c 'apt-get update -qq && \
		for each in chromium-headless-shell chromium; do \
			apt-get install -y -qq --no-install-recommends $$each fonts-dejavu-core && break; done'
endif

clean:
	rm -rf build dist *.egg-info torch_tb_profiler/static fe/node_modules fe/dist bench/out site site-pictures
