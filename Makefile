# SPDX-License-Identifier: Apache-2.0
# `make` alone lists the targets.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

MODULE := github.com/kubernetes-csi/csi-proxy
# The modules of this repository. Each builds and tests on its own, without the workspace.
MODULES := . client cmd/csi-proxyctl csisanity examples/csi-driver mounter test test/published v2
export GOTOOLCHAIN ?= local
# Tests are compiled as hack/build.sh compiles the commands, so that what both need is compiled once, and other clones share it.
export GOFLAGS ?= -trimpath -tags=grpcnotrace,nethttpomithttp2
export CGO_ENABLED ?= 0
# The tools are modules of their own; -n builds one for this machine and prints its binary's name. With -trimpath they and the tests
# share what both need, Go's own library first.
tool = $(shell GOWORK=off GOFLAGS=-trimpath go tool -modfile=$(CURDIR)/tools/$(1)/go.mod -n $(1))
buf = $(shell hack/buf.sh)
COMMIT_TIME = $(shell git log -1 --format=%ct)

.PHONY: help
help: ## list the targets
	@awk -F':.*## ' '/^[a-z][a-z-]*:.*## /{printf "  make %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: run
run: setup-run ## start the agent on the emulated node and show a volume's life (ONCE=1: exit afterwards)
	@hack/run.sh

.PHONY: build commands
build: commands ## build the commands into bin/, for GOOS and GOARCH, and csi-proxy.exe (VERSION=vX.Y.Z: the version that they print)
	GOOS=windows hack/build.sh bin "$(VERSION)" csi-proxy
commands:
	hack/build.sh bin $(VERSION)

# The suites whose emulated nodes are whole trees of files: they take longest, and to learn whether such a result still holds, Go
# looks for every file that they opened, which takes longer than most of them. So they run each time, and Go keeps the others' results.
SUITES = ./test ./test/contract ./test/sequences ./test/hostile ./test/conformance ./test/reliability ./internal/agent/node ./internal/emulated
# Many tests wait, so twice as many packages as processors run at a time. With a GOTMPDIR half of the tests' temporary files would be
# elsewhere, and tests rename disks.
GO_TEST = env -u GOTMPDIR TMPDIR=$$(hack/memory-dir.sh) CSI_PROXY_BIN=$(CURDIR)/bin go test -vet=off -timeout 20m -p $$((2 * $$(getconf _NPROCESSORS_ONLN)))
# Linkers and tests live too short for their garbage to matter; collecting it less often saves a tenth of the time.
.PHONY: test
test: export GOGC ?= 400
test: export CSI_PROXY_SAMPLED = 1
test: setup-test commands ## all tests; the long ones are sampled (make lint vets, make test-race has the race detector)
	rm -f $$(hack/memory-dir.sh)/csi-proxy-sampled
	$(GO_TEST) -count=1 -parallel 4 $(SUITES)
	$(GO_TEST) $$(go list $(patsubst %,./%/...,$(filter-out csisanity examples/csi-driver,$(MODULES))) | \
		grep -vFx -e $(MODULE)/test/deploy $(SUITES:./%=-e $(MODULE)/%))
	@cd $$(hack/memory-dir.sh) && touch csi-proxy-sampled && awk '{ some[$$1] += $$2; all[$$1] += $$3 } END { for (suite in all) \
		printf "%s: %d of %d sampled points (CSI_PROXY_LONG=all tries all)\n", suite, some[suite], all[suite] }' csi-proxy-sampled | sort

# Those whose processes do several things at once. A program sleeps for a second before it exits, so that goroutines may still race.
RACES = ./test/contract ./test/hostile ./internal/emulated/... ./test/reliability ./test/conformance ./internal/agent/... ./client/... ./csiproxytest ./inprocess ./mounter/...
.PHONY: test-race
test-race: export GORACE ?= atexit_sleep_ms=50
test-race: setup-race commands ## the tests of what does several things at once, with the race detector, which needs a C compiler; a quarter of what make test samples
	CGO_ENABLED=1 $(GO_TEST) -race -short -count=1 $(RACES)

.PHONY: test-sanity
test-sanity: setup-test commands ## csi-sanity on the example driver, with its counts, and kubelet's calls for pods
	CSI_PROXY_BIN=$(CURDIR)/bin go test -vet=off -count=1 -timeout 20m -v ./examples/csi-driver >bin/csi-sanity.log 2>&1 || { cat bin/csi-sanity.log; exit 1; }
	@grep -aE -A 30 "csi-sanity, (disks|shares)" bin/csi-sanity.log | grep -aE "csi-sanity,|skipped:"

LONG = ./internal/emulated ./test/conformance ./test/contract ./test/hostile ./test/reliability
.PHONY: test-long
test-long: setup-test commands ## three times as much of what `make test` samples, or all: disturbed calls, interrupted sequences, every step of a crash, 100 kills, races, loads; of the sweep every eleventh point
	CSI_PROXY_LONG=1 $(GO_TEST) -count=1 -timeout 40m $(LONG)
	CSI_PROXY_LONG=1 $(GO_TEST) -count=1 -timeout 40m -run 'Lives|ShareDrivers|Erasing' ./test/sequences
	CSI_PROXY_LONG=1 go test -short -count=1 -timeout 10m -run Interrupted ./csiproxytest

.PHONY: lint
lint: ## golangci-lint for Linux and Windows; buf lint, buf breaking, shell syntax
	@linter=$(call tool,golangci-lint); for os in linux windows; do echo "golangci-lint ($$os)"; \
		GOOS=$$os $$linter run --timeout 15m $(MODULES:%=./%/...); done
	@buf=$(buf); export GOWORK=off; for dir in . api; do (cd $$dir && $$buf lint && $$buf format -d --exit-code); done; \
		$$buf breaking --against client/api/image.binpb
	@for script in hack/*.sh .ci/run; do bash -n $$script; done

.PHONY: generate
generate: ## regenerate the generated files
	@buf=$(buf); export GOWORK=off; for dir in . api; do (cd $$dir && $$buf generate); done
	go generate ./internal/... ./cmd/... ./test/...

.PHONY: man
man: export SOURCE_DATE_EPOCH ?= $(COMMIT_TIME)
man: ## write the manual pages of csi-proxyctl: man -M bin/man csi-proxyctl
	rm -rf bin/man && mkdir -p bin/man/man1
	MAN_DIR=$(CURDIR)/bin/man/man1 go test -count=1 -run TestManPages ./cmd/csi-proxyctl

.PHONY: image
image: ## record the protos as released, after a version was added; buf breaking compares with the record
	GOWORK=off $(buf) build --exclude-source-info -o client/api/image.binpb

.PHONY: check-generated
check-generated: generate ## fail if a generated file differs from what its source gives
	@changed=$$(git status --porcelain -- client api cmd internal docs test v2); if [ -n "$$changed" ]; then \
		echo "These files differ from what their sources give; run make generate and commit them:"; echo "$$changed"; exit 1; fi

.PHONY: check-abi
check-abi: setup-abi ## compare what Go declares about Windows with C compilers and the mingw-w64 headers
	internal/agent/win32/testdata/abi/make.sh --check

.PHONY: check-monitoring
check-monitoring: ## parse the dashboard and the alerts with promtool, test the alerts, compare them with the agent's metrics
	CSI_PROXY_PROMTOOL=$(CURDIR)/hack/promtool.sh go test -count=1 -v -run 'Expressions|Alert|Documentation|Promtool' ./test/operation

.PHONY: check-workflows
check-workflows: ## actionlint for .github/workflows
	$(call tool,actionlint) -shellcheck= -pyflakes=

.PHONY: cross
cross: ## build for Windows on amd64 and arm64, where `make lint` looks at the tests, too; the commands as a release has them, into bin/windows-*
	GOOS=windows GOARCH=amd64 go build $(MODULES:%=./%/...)
	GOOS=windows GOARCH=arm64 go build $(patsubst %,./%/...,$(filter-out csisanity examples/csi-driver test/published,$(MODULES)))
	@for arch in amd64 arm64; do echo "windows/$$arch"; GOOS=windows GOARCH=$$arch hack/build.sh bin/windows-$$arch $(VERSION); done

.PHONY: check-floor
check-floor: export FLOOR_GO ?=
check-floor: ## build and test the modules that drivers import with the oldest Go (FLOOR_GO=local: this one) and dependencies that they promise
	hack/check-floor.sh

.PHONY: test-clients
test-clients: setup-clients ## run the clients in other languages against an agent on an emulated node
	@hack/test-clients.sh

.PHONY: check-page
check-page: setup-page commands ## use the emulated node's web page in a headless browser (SCREENSHOT=file.png: and draw it)
	CSI_PROXY_BIN=$(CURDIR)/bin CSI_PROXY_BROWSER=chromium CSI_PROXY_SCREENSHOT=$(abspath $(SCREENSHOT)) go test -count=1 ./test/page

.PHONY: check-docs
check-docs: setup-docs ## type what the documents show, in a clone of this repository, and compile their Go code outside of it
	CSI_PROXY_DOCS=1 go test -count=1 -v -run 'TestGuide|TestThreeReplaceLines' ./test ./v2

.PHONY: check-deploy
check-deploy: ## decode the manifests strictly, as an API server does, lint and render the Helm chart, read the images' Dockerfiles
	GOWORK=off go -C test test -count=1 -timeout 20m ./deploy
	@for script in deploy/*/build.sh .github/actions/*/*.sh; do bash -n $$script; done

# Without inlining and debugging information four programs, of which each is hundreds of packages, compile a quarter sooner; the
# test shares their packages, so it is compiled in the same way.
.PHONY: check-apiserver
check-apiserver: export GOFLAGS = -trimpath '-gcflags=all=-l -dwarf=false'
check-apiserver: export GOWORK = off
check-apiserver: export CGO_ENABLED = 0
check-apiserver: ## build kube-apiserver, etcd, kubectl and Helm, and let them create and upgrade what is deployed (long: the first time 2,700 packages are compiled)
	mkdir -p bin/apiserver
	cd test/apiserver && go build -ldflags="-s -w -X k8s.io/component-base/version.gitVersion=$$(go list -m -f '{{.Version}}' k8s.io/kubernetes)" -o $(CURDIR)/bin/apiserver/ tool && \
		$$(env -u GOFLAGS -u CGO_ENABLED go tool -modfile=$(CURDIR)/tools/golangci-lint/go.mod -n golangci-lint) run --config $(CURDIR)/.golangci.yml --timeout 15m ./... && \
		CSI_PROXY_APISERVER_BIN=$(CURDIR)/bin/apiserver go test -vet=off -count=1 -v -timeout 40m .

.PHONY: check-npd
check-npd: commands ## build node-problem-detector and let it run the plugin of deploy/npd on an emulated node (long: the first time it compiles 700 packages)
	CSI_PROXY_BIN=$(CURDIR)/bin CSI_PROXY_NPD=$$(CGO_ENABLED=0 GOWORK=off go tool -modfile=$(CURDIR)/tools/nodeproblemdetector/go.mod -n nodeproblemdetector) \
		go test -count=1 -v ./test/npd

.PHONY: chart-files
chart-files: ## copy the alert rules and the dashboard into the chart, and the values' texts into its README
	cp deploy/monitoring/csi-proxy-alerts.yaml deploy/monitoring/csi-proxy-dashboard.json charts/csi-proxy/files/
	$(call tool,helm-docs) --chart-search-root=charts/csi-proxy --sort-values-order=file --log-level=warning

.PHONY: test-wine
test-wine: ## run the Windows kernel's tests under Wine (root; the first time makes a Wine, about a minute)
	hack/test-wine.sh

.PHONY: counts
counts: ## print how many methods of the API the tests prove, as in docs/architecture.md; hack/counts.sh counts those of Wine and Windows
	{ cd client && go test -count=1 -v ./versions; } | hack/counts.sh
	go test -count=1 -v -timeout 20m ./test/conformance | hack/counts.sh

.PHONY: windows-tests
windows-tests: setup-zip ## compile the tests for a Windows machine, on GOARCH (amd64), into bin/windows-tests-GOARCH.zip, with a script that runs them
	@rm -rf bin/windows-tests bin/windows-tests-$${GOARCH:-amd64}.zip
	hack/windows-tests.sh bin/windows-tests
	cd bin && zip -qr windows-tests-$${GOARCH:-amd64}.zip windows-tests && unzip -l windows-tests-$${GOARCH:-amd64}.zip

.PHONY: bench
bench: ## run the benchmarks of test/bench and put what benchstat makes of them into docs/performance.md
	hack/bench.sh docs/performance.md

.PHONY: bench-wine
bench-wine: ## measure the agent of a Windows node under Wine (root), beside UPSTREAM=csi-proxy.exe, its sources or its version, for docs/performance.md
	hack/bench-wine.sh docs/performance.md

# The program that finds licences asks its own binary where Go is, and -trimpath takes that out.
release check-licenses check-release: export GOFLAGS =
.PHONY: release
release: export SOURCE_DATE_EPOCH ?= $(COMMIT_TIME)
release: man ## make all files of a release into dist/: VERSION=vX.Y.Z (REPOSITORY=OWNER/NAME: home and maintainer of the chart)
	cd hack/release && GOWORK=off go run . archives -version "$(VERSION)" -out $(CURDIR)/dist -man $(CURDIR)/bin/man/man1
	rm -rf bin/chart && cp -r charts/csi-proxy bin/chart
	[ -z "$(REPOSITORY)" ] || printf 'home: https://github.com/%s\nsources: ["https://github.com/%s"]\nmaintainers: [{name: "%s", url: "https://github.com/%s"}]\n' \
		"$(REPOSITORY)" "$(REPOSITORY)" "$(firstword $(subst /, ,$(REPOSITORY)))" "$(firstword $(subst /, ,$(REPOSITORY)))" >>bin/chart/Chart.yaml
	$(call tool,helm) package bin/chart --version $(VERSION:v%=%) --app-version $(VERSION) --destination dist
	mv dist/csi-proxy-$(VERSION:v%=%).tgz dist/csi-proxy-chart-$(VERSION:v%=%).tgz
	cd dist && sha256sum -- * >SHA256SUMS

.PHONY: check-reproducible
check-reproducible: ## build twice, in different places and without the compiler's cache, and compare the bytes
	hack/reproduce.sh

.PHONY: check-licenses
check-licenses: ## check that everything that is linked has a licence of the list
	cd hack/release && GOWORK=off go run . licenses

.PHONY: check-release
check-release: check-licenses ## lint and test the release program, and check the licences
	@linter=$(call tool,golangci-lint); cd hack/release && export GOWORK=off && \
		$$linter run --config $(CURDIR)/.golangci.yml --timeout 15m ./... && go test -count=1 ./...

.PHONY: fuzz
fuzz: ## fuzz every parser, or those in the folders FUZZ, FUZZTIME (5s) each
	hack/fuzz.sh $(FUZZ)

.PHONY: mutants
mutants: ## change operators in the packages that decide, or in PACKAGES, and see whether their tests notice (hours)
	hack/mutants.sh $(PACKAGES)

.PHONY: setup-run setup-test setup-race setup-abi setup-clients setup-page setup-docs setup-zip
setup-run:
	@hack/setup.sh run
setup-test:
	@hack/setup.sh test
setup-race: setup-test
	@hack/setup.sh race
setup-abi:
	@hack/setup.sh abi
setup-clients:
	@hack/setup.sh clients
setup-page:
	@hack/setup.sh page
setup-docs:
	@hack/setup.sh docs
setup-zip:
	@hack/setup.sh zip
