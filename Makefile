# The commands of gradwire. Each does its own set-up. The work is in CMakePresets.json and tools/.

PREFIX ?= /usr/local
FUZZ_SECONDS ?= 60
SEEDS ?= 10000
FIRST ?= 1
JOBS := $(shell nproc)

build = cmake --preset $(1) >/dev/null && cmake --build --preset $(1) --parallel $(JOBS)
test = ctest --preset $(1) --parallel $(JOBS)

.NOTPARALLEL:
.PHONY: help demo test test-torch test-slow test-sanitize wheel fuzz simulate storm bench bench-train bench-network bench-ddp format install clean
.PHONY: bootstrap build

help:                ## this list
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' Makefile | expand -t 24

demo: bootstrap      ## build, and train one network with nine methods, side by side
	@$(call build,release) --target gradwire_cli
	@tools/demo

test: build          ## build, and run the tests
	@tools/bootstrap test
	@$(call test,release)

test-torch:          ## the Python tests with the wheel and torch 2.13 of PyPI, in an environment below build/
	@tools/bootstrap wheel
	@tools/test-torch

test-slow: build     ## the tests that take minutes
	@$(call test,slow)

test-sanitize:       ## the tests under ASan and UBSan, those with threads under TSan
	@tools/bootstrap test
	@$(call build,sanitize)
	@$(call test,sanitize)
	@$(call build,tsan)
	@$(call test,tsan)

fuzz:                ## every fuzz target for FUZZ_SECONDS=60
	@tools/bootstrap fuzz
	@$(call build,fuzz)
	@tools/fuzz $(FUZZ_SECONDS)

simulate: bootstrap  ## memberships under faults: SEEDS=10000 seeds from FIRST=1 on
	@tools/bootstrap test
	@$(call build,release) --target simulate
	@build/simulate --seeds $(SEEDS) --first $(FIRST)

storm: bootstrap  ## an elastic run of 8 processes, one killed every 5 s on average, for 10 minutes
	@$(call build,release) --target ranks
	@tools/storm

bench: build         ## speed of every codec and of planning; as root, advice against what is measured
	@build/gradwire bench codec --elements 16777216 --threads 1
	@cmake --build --preset release --target choose_bench
	@build/choose_bench
	@tools/bench-advise || [ $$? -eq 3 ]

bench-train: build   ## what the trainer costs beside the network: against a bare loop
	@cmake --build --preset release --target overhead_bench
	@build/overhead_bench

bench-network: build ## compressed means on networks: loopback, 1 Gbit/s; needs root
	@tools/bench-network

bench-ddp: build     ## PyTorch's DDP with gradwire beside its own ways to average; needs root
	@tools/bench-ddp

format:              ## lay out the sources by .clang-format
	@tools/bootstrap format
	@find gradwire record data convex train report console launch bench session advise reproduce cli python fuzz tests -name '*.h' -o -name '*.cpp' | xargs clang-format -i

wheel:               ## self-contained wheels in dist/ for all Pythons of the machine; PYTHONS=... for some
	@tools/bootstrap wheel
	@tools/wheel $(PYTHONS)

install: bootstrap   ## build and install library, headers, program, CMake package; PREFIX=/usr/local
	@$(call build,release) --target gradwire_cli
	@cmake --install build --prefix $(PREFIX)
	@echo "The Python package is separate: pip install . (docs/pytorch.md)"

clean:               ## remove build/ and dist/
	@rm -rf build build-pip dist

build: bootstrap
	@$(call build,release)

bootstrap:
	@tools/bootstrap
