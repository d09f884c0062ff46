# make demo and make test do all the set-up that they need, on a machine that never saw the project.
SHELL := /bin/bash
# Test processes, one more than cores since flights wait for other programs; each has ports of
# its own, of which there are enough for four.
JOBS ?= $(shell n=$$(nproc); echo $$((n < 3 ? n + 1 : 4)))
.PHONY: help setup setup-demo setup-learn cache demo check test test-long test-fast docs validation pictures bench bench-gpu test-times soak hostile slam-report notebook users demos

help:
	@echo "make setup        ROS, .venv, messages, kernels (scripts/setup.sh)"
	@echo "make setup-learn  also PyTorch, for xtdrone learn; make test does it"
	@echo "make cache        all that a set-up downloads and compiles, into FOLDER=/media/usb/xtdrone;"
	@echo "                  without a network: make demo CACHE=/media/usb/xtdrone"
	@echo "make demo         the demonstration flight, with what it needs alone; ARGS=\"...\" passes options to it"
	@echo "make demos        navigation, SLAM and perception, headless, one by one; ARGS=\"swarm people\" for some"
	@echo "make check        ruff, mypy, layers of imports, private names; a minute"
	@echo "make test         the tests, in JOBS processes; ARGS=\"tests/sim -x\" for pytest"
	@echo "make test-long    those that it leaves out: long flights, and those that need Chromium"
	@echo "make test-fast    tests of each package that need no other program; 3 minutes"
	@echo "make test-times   measures every test, and writes the table tests/TIMES.md"
	@echo "make docs         the documentation site, into runs/site"
	@echo "make notebook     the notebook in a new virtual environment with pip install .[notebook] alone"
	@echo "make validation   long checks against closed forms and published results"
	@echo "make pictures     every screenshot and plot of the manual; ARGS=\"--outdated\" or words of names"
	@echo "make bench        benchmarks, into runs/bench.json, then a table of goal, last release and now"
	@echo "make bench-gpu    those of a graphics card; ARGS=\"--n 1048576\""
	@echo "make slam-report  the SLAM report of docs/slam_report; 20 minutes"
	@echo "make soak         long flights that look for leaks and stalls"
	@echo "make users        every reader over your files: read, refused with reason, crashed; FOLDER=~/flights"
	@echo "make hostile      hostile files, options and messages; 10 minutes; ARGS=\"--seconds 60 --seed 3\""

SETUP = scripts/setup.sh $(if $(CACHE),--cache "$(CACHE)")
setup:
	@$(SETUP)

setup-demo:
	@$(SETUP) --demo

setup-learn:
	@$(SETUP) --learn

cache: setup-learn
	@scripts/make_cache.sh "$(FOLDER)" $(ARGS)

check: setup
	@. scripts/env.sh && ruff check && ruff format --check --quiet && mypy && lint-imports \
		&& codespell README.md CONTRIBUTING.md CHANGELOG.md src docs launch scripts examples \
		&& python scripts/prose.py \
		&& python -m pytest -q --long tests/integration/test_private_attributes.py
	@. scripts/env.sh && ruff check --select F $$(find src/*/nodes -type f -perm -u+x)

docs: setup
	@. scripts/env.sh && mkdocs build --strict --site-dir runs/site

test: setup-learn
	@. scripts/env.sh && python -m pytest -q -n $(JOBS) --dist loadfile --no-loadscope-reorder $(ARGS)

test-long: override ARGS += --long -m long
test-long: test

# Processor time: a busy machine measures the same.
test-times: override ARGS += --long --times=$(CURDIR)/runs/test_times.json
test-times: test
	@. scripts/env.sh && python scripts/times_of_tests.py

# They wait for no other program: a process for each core.
test-fast: setup-learn
	@. scripts/env.sh && python -m pytest -q -n $$(( $$(nproc) < 4 ? $$(nproc) : 4 )) --dist worksteal -m "not slow" \
		$(addprefix --ignore=tests/,integration ros gazebo flight_controllers/px4) $(ARGS)

notebook:
	@scripts/notebook_alone.sh

users: FOLDER ?= tests/data/users
users: setup
	@. scripts/env.sh && python scripts/users.py "$(FOLDER)" $(ARGS)

bench-gpu: setup
	@. scripts/env.sh && python benchmarks/bench_gpu.py $(ARGS) \
		&& python benchmarks/learning_on_card.py --device cuda

validation: setup-learn
demo: setup-demo
pictures bench soak hostile slam-report demos: setup
demo demos validation pictures bench soak hostile slam-report:
	@. scripts/env.sh && scripts/$@.sh $(ARGS)
