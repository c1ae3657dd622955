# What contributors run; CONTRIBUTING.md says more. "make" lists the targets.
BIN := .venv/bin

help:  ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /make \1\t/p' $(MAKEFILE_LIST)

.venv:
	python3 -m venv .venv
	$(BIN)/pip install --quiet -e ".[dev]"

quick: .venv  ## run the tests that find most, in two minutes
	$(BIN)/python -m pytest -m quick

test: .venv  ## run the tests
	$(BIN)/python -m pytest

lint: .venv  ## run the linters and the type checker
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	MYPY=$(BIN)/mypy .ci/types
	VULTURE=$(BIN)/vulture .ci/dead-code

docs: .venv  ## generate the pages of rules, and what other pages have from the code
	$(BIN)/python -m tools.docs

.PHONY: help quick test lint docs
