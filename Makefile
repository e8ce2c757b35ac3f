# The project's commands; `make` lists them. The scripts are in config/scripts.

scripts := config/scripts
programs := .build/release
sources := Sources Tests Plugins Benchmarks/Micro
format := swift format --configuration config/swift-format.json
lint := swift format lint --configuration config/swift-format.json

.DEFAULT_GOAL := help
.PHONY: help run build tarball deb npm test test-packages format lint docs pictures clean
.PHONY: vectors conformance bench microbench fuzz simulate recovery cluster hostile prove sanitize soak stalled

help: ## List these commands
	@echo 'Fanfare: a realtime broker that speaks the Pusher Channels protocol'
	@echo
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo
	@echo 'VERBOSE=1 behind any of them shows every line of the compiler.'

run: ## Build for release, then start the broker and the demos
	@$(scripts)/install.sh build
	@$(scripts)/run.sh

build: ## Build everything for release, with a static Swift runtime and without symbols
	@$(scripts)/install.sh build
	@echo 'Building for release (some minutes the first time, for the libraries as well) …'
	@$(scripts)/build.sh release
	@echo 'The programs, in $(programs):'
	@$(scripts)/build.sh sizes

tarball: ## Build dist/fanfare-VERSION-linux-MACHINE.tar.gz: the program, its unit, manual pages and completions
	@$(scripts)/install.sh package
	@$(scripts)/package.sh tarball

deb: ## Build dist/fanfare_VERSION_ARCHITECTURE.deb for this Debian or Ubuntu
	@$(scripts)/install.sh package
	@$(scripts)/package.sh deb

npm: ## Build .build/npm/fanfare-VERSION.tgz, the package of the browser client; nothing is published
	@$(scripts)/install.sh build
	@$(scripts)/npm.sh

test: ## Run every test: Swift, official client libraries, and a browser (ONLY=PublishOrderTests: one suite)
	@$(scripts)/install.sh test
	@$(scripts)/test.sh

vectors: ## Run the vectors that all clients pass: Swift, fanfare.js, and the add-on for pusher-js
	@$(scripts)/install.sh build
	@$(scripts)/build.sh tests
	@swift test --skip-build --filter 'Vectors?Tests/'
	@node Tests/vectors/run.mjs

test-packages: ## Install, run, upgrade and purge the packages, and run the Dockerfile, in new roots (PACKAGE_ROOTS=)
	@$(scripts)/install.sh packages
	@$(scripts)/package.sh tarball
	@$(scripts)/package.sh deb
	@PYTHONDONTWRITEBYTECODE=1 .venv/bin/python -m pytest Tests/packages

fuzz: ## Fuzz every target for a minute (TIME=60)
	@$(scripts)/install.sh build
	@$(scripts)/fuzz.sh

sanitize: ## Run the Swift tests under the thread and address sanitizers
	@$(scripts)/install.sh sanitize
	@$(scripts)/sanitize.sh

format: ## Format all Swift sources
	$(format) --in-place --recursive $(sources)

lint: ## Check format and style rules without changes
	$(lint) --strict --recursive $(sources)

conformance: ## Run the Autobahn WebSocket suite against server and client
	@$(scripts)/install.sh conformance
	@$(scripts)/conformance.sh

bench: ## Measure the broker beside nchan, Mosquitto and NATS, and draw the chart
	@$(scripts)/install.sh bench
	@$(scripts)/bench.sh

microbench: ## Measure the routines on a message's path: time and instructions
	@$(scripts)/install.sh microbench
	@Benchmarks/microbench.sh

soak: ## Run a mixed load for half an hour (MINUTES=30) and check for leaks
	@$(scripts)/install.sh build
	@$(scripts)/soak.sh soak

stalled: ## Measure the effect of 1,000 stalled readers on 1,000 others (MINUTES=5)
	@$(scripts)/install.sh build
	@$(scripts)/soak.sh stalled

SEEDS ?= 10000

simulate: ## Simulate the broker with SEEDS=10000 seeds and check what its clients see
	@$(scripts)/install.sh build
	@$(scripts)/build.sh release fanfare-simulate
	.build/release/fanfare-simulate --seeds $(SEEDS)
	.build/release/fanfare-simulate --seeds $(SEEDS) --archive
	.build/release/fanfare-simulate --seeds $(SEEDS) --sessions
	.build/release/fanfare-simulate --seeds $(SEEDS) --leases
	.build/release/fanfare-simulate --seeds $(SEEDS) --cluster

recovery: ## Cut, stop and kill under 10 million deliveries, and print the loss table (DELIVERIES=, CUTS=)
	@$(scripts)/install.sh test
	@$(scripts)/recovery.sh

cluster: ## Run three nodes on Redis under load, let parts fail, and print what each client saw (FAULT=)
	@$(scripts)/install.sh test
	@$(scripts)/cluster.sh

hostile: ## Attack a broker and two nodes with clients that have the public key alone (MINUTES=10)
	@$(scripts)/install.sh test
	@$(scripts)/hostile.sh

prove: ## Run all proofs too long for `make test`, and print a table of their results (PARTS=, SEEDS=)
	@$(scripts)/install.sh test
	@$(scripts)/prove.sh

docs: ## Build the guides as a site with search, and the Swift reference, in site/ (ONLY=guides)
	@$(scripts)/install.sh docs
	@$(scripts)/docs.sh $(ONLY)

pictures: ## Take the pictures of the README and the guides: console, landing page and demos
	@$(scripts)/install.sh test
	@$(scripts)/build.sh debug
	@PYTHONDONTWRITEBYTECODE=1 .venv/bin/python Tests/witnesses/pictures.py

clean: ## Remove build output; keep the virtual environment
	swift package clean
	rm -rf site dist Benchmarks/.build
