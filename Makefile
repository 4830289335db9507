# Two commands are all a newcomer needs: `make demo` and `make test`. Each makes .venv when it is not there.
.DEFAULT_GOAL := help
.PHONY: help demo test check bench notebooks test-matrix release-check binder-check tool-bench kill-test extensions pictures docs clean

help:  ## What can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-13s %s\n", $$1, $$2 }' Makefile

demo:  ## Run notebooks/01_hello.ipynb on the embedded offline model (no key, no network) and print what it shows
	@scripts/venv lab
	@.venv/bin/python scripts/demo.py

test:  ## Everything CI runs: scripts/check, then scripts/test
	@scripts/venv test
	@scripts/check
	@scripts/test

check:  ## Linters and types only
	@scripts/venv test
	@scripts/check

bench:  ## Measure beside a plain script, print ratios
	@scripts/venv test
	@.venv/bin/python -m tests.benchmarks

notebooks:  ## Run all notebooks on the embedded offline model, time them
	@scripts/venv test
	@.venv/bin/python scripts/notebooks.py

test-matrix:  ## The compatibility matrix: ipykernel, JupyterLab, Plotly, pandas, Pythons, the oldest allowed versions
	@scripts/venv test
	@.venv/bin/python scripts/matrix.py $(CELLS)

release-check:  ## Build wheel and sdist, try them in clean environments with no extras, each extra, and all
	@scripts/venv test
	@.venv/bin/python scripts/release.py

binder-check:  ## Validate binder/ with repo2docker, take its steps in a clean environment, measure the memory
	@scripts/venv test
	@.venv/bin/python scripts/binder.py

tool-bench:  ## The conformance table of tools through other libraries, in an environment of its own
	@scripts/venv test
	@.venv/bin/python -m tests.benchmarks.tool_bench

kill-test:  ## Kill workers and kernels at N random moments of a turn (make kill-test N=200); check all that is promised
	@scripts/venv test
	@.venv/bin/python -m tests.kill --n $(or $(N),200) $(if $(SEED),--seed $(SEED))

pictures:  ## Make pictures of every state of a turn (light, dark, three widths, live and saved) and those of README and guides anew
	@scripts/venv test
	@.venv/bin/python scripts/pictures.py
	@.venv/bin/python scripts/pictures.py --docs

extensions:  ## Build the JupyterLab extension and the widgets from extensions/ into the package (needs Node 20 or newer)
	@scripts/venv test
	@.venv/bin/python scripts/extensions.py build

docs:  ## Build the site into build/site: warnings are errors, links are checked
	@scripts/venv test
	@.venv/bin/python scripts/site.py

clean:  ## Remove .venv, node_modules, caches and screenshots
	rm -rf .venv extensions/node_modules extensions/lab/lib .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis screenshots build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
