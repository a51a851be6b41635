# Everything runs in .venv, made here and remade by nothing: an environment of yours in that place is used as it is.
#
#   make demo   record a short run on this machine and say what limits it
#   make app    look at recorded runs in the browser
#   make test   run the tests            make test ARGS='-k pageable'
#   make check  ruff and mypy
#   make bench  speed, overhead and accuracy on this machine; takes a while
#
# PYTHON=python3.12 chooses the interpreter that .venv is made with. All paths are relative: this folder's may hold spaces.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# built by the installation, where there is a C compiler
COMPILED := analyze/ingest/compiled/scan.c
# the browser tests share one port and the torchrun tests one machine: a file's tests stay in one process, in order
TEST_PROCESSES ?= 2
ARGS ?=

.PHONY: help demo app test check bench wheel clean
.DELETE_ON_ERROR:

help:
	@sed -n 's/^#   //p' Makefile

# A torch that is in .venv already stays: its version is a constraint of everything installed beside it.
define install
	@echo "installing stepscope[$(1)] into $(VENV); torch, where it is missing, is several GB"
	@$(BIN)/python -m pip list --format=freeze 2>/dev/null | grep '^torch==' > $(VENV)/installed-torch.txt || true
	@$(BIN)/python -m pip install --disable-pip-version-check -c $(VENV)/installed-torch.txt -e '.[$(1)]'
	@touch $@
endef

$(VENV)/.made:
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); \
		echo 'python3 cannot make environments here: on Debian and Ubuntu, apt-get install python3-venv' >&2; exit 2; }
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || $(BIN)/python -m ensurepip --upgrade >/dev/null
	@touch $@

$(VENV)/.app-train: $(VENV)/.made pyproject.toml $(COMPILED)
	$(call install,app$(,)train)

$(VENV)/.dev: $(VENV)/.made pyproject.toml $(COMPILED)
	$(call install,app$(,)train$(,)dev)

# a comma would end the argument
, := ,

demo: $(VENV)/.app-train
	@$(BIN)/stepscope collect --device auto
	@echo
	@$(BIN)/stepscope report
	@echo
	@echo 'See it in the browser:          make app'
	@echo 'Record a script of your own:    $(BIN)/stepscope collect -- train.py --its-own-options'

app: $(VENV)/.app-train
	@$(BIN)/stepscope app

test: $(VENV)/.dev
	@$(BIN)/python -m pytest -n $(TEST_PROCESSES) --dist loadfile $(ARGS)

check: $(VENV)/.dev
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

bench: $(VENV)/.dev
	@for file in benchmarks/[!_]*.py; do \
		name=$${file#benchmarks/}; echo "== $$name"; $(BIN)/python -m "benchmarks.$${name%.py}" || exit 1; done

wheel: $(VENV)/.made
	@$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir dist .

clean:
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache
