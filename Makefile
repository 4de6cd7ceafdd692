# `make setup` once, `make check` before every push: it is what CI runs.
.DEFAULT_GOAL := check
.PHONY: setup setup-libvirt check check-full static lint types layers docs-check compiled test test-heavy coverage requirements docs site console explore fmt lock bench chaos chaos-planted edge edge-planted leases races soak fuzz fuzz-long dev shots tryout clean

VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/ready
# Tests start hundreds of processes; each would compile everything anew if what was compiled were not kept.
export PYTHONDONTWRITEBYTECODE :=
# Two more than there are cores, since many tests wait for another process; a worker that is done takes from the others.
PYTEST := $(BIN)/python -m pytest -n $(shell expr $$(nproc) + 2) --dist worksteal
COMPILE := $(BIN)/uv pip compile --universal --python-version 3.12 --generate-hashes --no-header --quiet
LOCK := $(COMPILE) pyproject.toml
INSTALL := $(BIN)/uv pip install --quiet --python $(BIN)/python
HEAVY := tests/heavy/openstack/requirements
ARGS ?=

setup: $(READY)

$(READY): requirements-dev.lock pyproject.toml
	"$(or $(PYTHON),$(shell tools/find-python))" -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --require-hashes -r requirements-uv.lock
	$(INSTALL) --require-hashes -r requirements-dev.lock
	$(INSTALL) --no-deps --no-build-isolation -e .
	touch $@

# The library that the libvirt driver needs. It is compiled against the libvirt of the machine, so it needs gcc, the headers
# of Python, pkg-config and libvirt-dev; without it the tests of that driver are skipped.
setup-libvirt: $(READY)
	$(INSTALL) --require-hashes -r requirements-libvirt.lock

# What CI runs on every push. The tests come last, so that their summary is the last thing printed.
check: static
	$(PYTEST) $(ARGS)

# Everything but whole clouds: the tests of `make check`, the long ones, and the proof of every requirement. Before a release,
# and before resolving work that the long tests protect.
check-full: static
	$(PYTEST) --tier full $(ARGS)
	@$(BIN)/python -m tools.requirements --brief

# What needs no test to run. The type check uses one core for as long as the rest takes on another.
static: $(READY)
	@$(MAKE) --no-print-directory --jobs 2 --output-sync=target types lint layers docs-check compiled

lint: $(READY)
	$(BIN)/ruff check
	$(BIN)/ruff format --check

types: $(READY)
	$(BIN)/mypy

layers: $(READY)
	$(BIN)/lint-imports --no-cache

docs-check: $(READY)
	$(BIN)/python -m tools.docs --check
	$(BIN)/python -m tools.client_models --check
	$(BIN)/python -m tools.console_types --check

# The tests as pytest runs them, compiled once; otherwise every worker compiles all of them.
compiled: $(READY)
	@$(BIN)/python -m pytest --collect-only -qq >/dev/null || $(BIN)/python -m pytest --collect-only -qq

# make test ARGS="tests/lifecycle -k suspend"
test: $(READY)
	$(PYTEST) $(ARGS)

# On whole clouds that it brings up first, which takes minutes; needs mariadb-server-core, mariadb-client-core and
# rabbitmq-server, what the tests of LXD and libvirt need, and for guests qemu-system-x86, libvirt-daemon-driver-qemu and
# linux-image-cloud-amd64. Fewer: make test-heavy ARGS="-k conformance"
test-heavy: $(READY)
	$(BIN)/python -m pytest -m heavy tests/heavy $(ARGS)

# Which lines of src/stead the tests run, in all processes: make coverage, or make coverage ARGS="--tier full"
coverage: $(READY)
	mkdir -p .build && rm -f .build/coverage*
	$(BIN)/coverage run -m pytest -n $(shell expr $$(nproc) + 2) --dist worksteal $(ARGS) || true
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report --skip-covered --sort=cover

# Every requirement with the tests that prove it, by what the last `make check-full` has seen. Fails where the list says more
# than the tests show.
requirements: $(READY)
	@$(BIN)/python -m tools.requirements

# What is generated from the code: diagrams, reference pages, the OpenAPI document; and from that the client's models and
# the console's types, which need Node and `npm ci` in console/.
docs: $(READY)
	$(BIN)/python -m tools.docs
	$(BIN)/python -m tools.client_models
	$(BIN)/python -m tools.console_types

# The documentation as a site, in build/site; any warning is an error.
site: $(READY)
	$(INSTALL) --require-hashes -r requirements-docs.lock
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet $(ARGS)

# Every kind in every world within the full bounds, which takes minutes; the tests take its record for the code it was
# made of, and for no other.
explore: $(READY)
	$(BIN)/python -m tools.explored

# The web console, built into src/stead/console/static, which is committed; needs Node 20.19 or newer.
console:
	cd console && npm ci --no-fund --no-audit && npm run check && npm test && npm run build

fmt: $(READY)
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

# Pins what pyproject.toml asks for and keeps pins that still fit. All anew: make lock ARGS=--upgrade
lock: $(READY)
	$(LOCK) -o requirements.lock $(ARGS)
	$(LOCK) -o requirements-dev.lock --group dev -c requirements.lock $(ARGS)
	$(LOCK) -o requirements-bench.lock --group bench -c requirements-dev.lock $(ARGS)
	$(LOCK) -o requirements-docs.lock --group docs -c requirements-dev.lock $(ARGS)
	echo uv | $(COMPILE) - -o requirements-uv.lock -c requirements-dev.lock $(ARGS)
	echo libvirt-python | $(COMPILE) - -o requirements-libvirt.lock $(ARGS)
	$(COMPILE) $(HEAVY).in -o $(HEAVY).lock $(ARGS)

# Kills and stops everything while thousands of actions are under way, and counts the losses.
# Shorter: make chaos ARGS="--seconds 60 --seed 7". On three nodes of database and bus each: make chaos ARGS=--replicated
# With a backup that is restored: make chaos ARGS=--restored
chaos: $(READY)
	@$(BIN)/python -m tests.chaos $(ARGS)

# The same with a bug in it, once for each planted bug: all have to be caught.
chaos-planted: $(READY)
	@$(BIN)/python -m tests.chaos --planted all $(ARGS)

# Sites behind links that lose, delay, reorder, repeat and break, in network namespaces (so it needs root, ip, iptables
# and nsenter), and everybody killed: in the end all agree. Shorter: make edge ARGS="--minutes 1 --sites 30 --seed 7"
edge: $(READY)
	@$(BIN)/python -m tests.edge.run --minutes 10 --sites 200 --instances 2000 $(ARGS)

# The same with a bug in it, once for each planted bug: all have to be caught.
edge-planted: $(READY)
	@$(BIN)/python -m tests.edge.run --planted all $(ARGS)

# Ten thousand leases over five hundred hosts for a year, on a clock that jumps, while controllers are killed and hosts
# fail. Less: make leases ARGS="--leases 500 --hosts 40 --days 40 --seed 7"
leases: $(READY)
	@$(BIN)/python -m tests.leases.year $(ARGS)

# Two actions on one machine at the same moment, through two controllers, ten thousand times: one winner each.
# Fewer: make races ARGS=1000
races: $(READY)
	STEAD_RACES=$(or $(ARGS),10000) $(BIN)/python -m pytest --tier full -s tests/integration/test_machine_races.py

# Any request, right or wrong, to every endpoint, so many of each: make fuzz ARGS=1000
fuzz: $(READY)
	STEAD_FUZZ=$(or $(ARGS),200) $(BIN)/python -m pytest -n $$(nproc) --tier full tests/api/test_any_request.py

# Bad input at length, to everything that reads: 100,000 requests, a million messages, files, and a real bus; about half
# an hour. Less: make fuzz-long ARGS="--requests 5000 --messages 50000 --files 2000 --bus 5000 --seed 7"
fuzz-long: $(READY)
	@$(BIN)/python -m tests.fuzz $(ARGS)

# Measured beside the bare engines and the peers, in one run; needs wrk. Shorter: make bench ARGS=--small
bench: $(READY)
	@command -v wrk >/dev/null || { echo "make bench: wrk is missing (apt install wrk)" >&2; exit 2; }
	$(INSTALL) --require-hashes -r requirements-bench.lock
	@$(BIN)/python -m bench $(ARGS)

# An hour at half of what a cell can do: what it uses is flat at the end. Shorter: make soak ARGS="--minutes 5"
soak: $(READY)
	$(INSTALL) --require-hashes -r requirements-bench.lock
	@$(BIN)/python -m bench.soak --to bench/soak/samples.csv $(ARGS); ended=$$?; \
	$(BIN)/python -m bench.soak.plot bench/soak/samples.csv docs/images/soak.svg; exit $$ended

# Pictures of every page of the console, for the docs; needs chromium.
shots: $(READY)
	STEAD_SHOTS=$(CURDIR)/docs/images $(BIN)/python -m pytest --tier full tests/browser/test_shots.py

# As a newcomer: the built wheel in an empty environment, `stead dev`, and what it prints. With what came along:
# make tryout ARGS=--packaged
tryout: $(READY)
	@$(BIN)/python -m tools.tryout $(ARGS)

# Everything on this machine, until Ctrl-C.
dev: $(READY)
	@$(BIN)/stead dev $(ARGS)

clean:
	rm -rf $(VENV) .build build dist .hypothesis .mypy_cache .pytest_cache .ruff_cache console/node_modules
	find src tests tools -name __pycache__ -prune -exec rm -rf {} +
