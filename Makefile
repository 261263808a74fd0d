# `make run` and `make test` need python3 (3.11 or newer) and make; everything else goes into .venv.
PYTHON ?= python3
VENV := .venv
STAMP := $(VENV)/installed
# What compiles for devices that are not here: `make targets PLATFORMS=gpu` leaves the TPU's half a gigabyte out.
TARGETS := .targets
PLATFORMS := gpu tpu
GPU_PACKAGES := jax-cuda12-pjrt jax-cuda12-plugin nvidia-cuda-nvcc-cu12
TPU_PACKAGES := libtpu

# What is compiled once is kept: pytest would rewrite every test file at each start.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: run check test slow docs dist sbom zoo soak trials matrix schema operations goldens install targets types quick graphviz gpu-recordings clean

run: install
	$(VENV)/bin/jaxport run

# The inner loop: all but the tests that start Python or a browser, or take long.
check: install
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/lint-imports --no-logo --no-cache
	@$(MAKE) --no-print-directory -j 2 types quick

types:
	$(VENV)/bin/pyright

quick:
	$(VENV)/bin/python -m pytest -m 'not process and not slow and not heavy'

test: check
	$(VENV)/bin/python -m pytest -m '(process or heavy) and not slow'

# The guide and the reference as pages, offline and without a warning; `jaxport lookup docs` opens them.
docs: install
	$(VENV)/bin/python -m sphinx -E -q -W --keep-going -b html -d docs/_build docs compare/documentation

# An sdist and a wheel in dist/, both with the pages: a wheel that was built without them has nothing to open.
dist: docs
	rm -rf build dist
	$(VENV)/bin/python -m build
	@$(VENV)/bin/python -m zipfile -l dist/*.whl | grep '^compare/documentation/index.html ' > /dev/null || \
		{ echo "expected compare/documentation/index.html in the wheel, found none: see package-data in pyproject.toml"; exit 1; }

# What constraints.txt brings, as a CycloneDX bill of materials in dist/; continuous integration audits the same list.
sbom: install
	mkdir -p dist
	$(VENV)/bin/python -m pip install -q --disable-pip-version-check -c constraints.txt 'cyclonedx-bom>=7'
	$(VENV)/bin/cyclonedx-py requirements constraints.txt --pyproject pyproject.toml --output-reproducible \
		--of JSON -o dist/jaxport.cdx.json

# What takes longer than it is worth before every commit: an hour on two cores. PART=0/2 and PART=1/2 are its halves:
# continuous integration runs one of them after `make test`, as all of it would take longer than a run may.
PART :=
slow: install targets
	JAXPORT_SLOW_PART=$(PART) $(VENV)/bin/python -m pytest -m slow --durations 60 --durations-min 10

# Every workload by all gates, and every error that is planted: what the tests leave out as it takes half an hour and more.
zoo: install
	JAXPORT_ZOO=1 $(VENV)/bin/python -m pytest tests/workloads/test_contract.py tests/workloads/test_mixed_precision.py tests/workloads/test_mutants_*.py
	JAXPORT_ZOO=1 $(VENV)/bin/python -m pytest -m slow tests/ladder/test_next_command.py tests/porting/test_init_command.py \
		tests/prove/test_pairs.py tests/gotchas/test_themes_*_half.py

# What `jaxport bench gpu-suite` takes to a machine with a GPU: .jaxport/gpu-recordings, in loads of 60 MiB.
gpu-recordings: install
	$(VENV)/bin/jaxport bench gpu-suite --record

# 300 small ports in one run: memory, files and threads of the coordinator and of each worker, a row every 20.
soak: install
	$(VENV)/bin/python docs/soak.py

# Full disks, no network, odd names, closed streams, little memory: docs/environments.md. Some of it takes root.
trials: install
	$(VENV)/bin/python docs/trials.py

# Older and newer releases of either side, each in an environment of its own below FOLDER: docs/versions.md.
matrix: install
	$(VENV)/bin/python docs/versions.py $(or $(FOLDER),.matrix)

# docs/results.schema.json, from the structs of compare/record/. A test fails until it is current.
schema: install
	$(VENV)/bin/python -m compare.record.json_schema > docs/results.schema.json

# What every operation of the installed TensorFlow is: for `jaxport lookup ops`. A slow test fails until it is current.
operations: install
	$(VENV)/bin/python -m compare.operations.surveying

# The records of tests/data: one of a real run, which takes some minutes, and one by hand, written anew.
goldens: install targets
	$(VENV)/bin/python tests/support/goldens.py

install: $(STAMP)

targets: $(TARGETS)/installed

# An environment of its own, since JAX would look for a GPU wherever its plugin is; it sees the packages of the first.
$(TARGETS)/installed: $(STAMP)
	$(PYTHON) -m venv --without-pip $(TARGETS)
	$(VENV)/bin/python -m pip --python $(TARGETS)/bin/python install -q --disable-pip-version-check --no-deps \
		-c constraints.txt $(if $(filter gpu,$(PLATFORMS)),$(GPU_PACKAGES)) $(if $(filter tpu,$(PLATFORMS)),$(TPU_PACKAGES))
	$(VENV)/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))' \
		> $$($(TARGETS)/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/jaxport.pth
	@touch $@

# With bytecode: where PYTHONDONTWRITEBYTECODE is set, every worker would compile TensorFlow's sources anew.
$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "expected Python 3.11 or newer, found $$($(PYTHON) --version): set PYTHON=..."; exit 2; }
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null || { [ "$$(id -u)" = 0 ] && apt-get install -y -q python3-venv; } || \
		{ echo "expected Python's venv module, found none: apt-get install python3-venv"; exit 2; }
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/python -m pip install -q --disable-pip-version-check -c constraints.txt -e '.[dev,docs,peers,ray,grain,mcp,pjrt]'
	@command -v dot > /dev/null || $(MAKE) -s graphviz
	@touch $@

# Draws the pictures of modules; everything else works without it.
graphviz:
	@if [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null; then \
		echo "installing Debian's graphviz: it draws the pictures of modules"; \
		apt-get install -y -q graphviz > /dev/null || echo "graphviz could not be installed: pictures stay .dot files"; \
	else echo "found no dot: pictures of modules stay .dot files until graphviz is installed"; fi

clean:
	rm -rf $(VENV) $(TARGETS) jaxport-report
