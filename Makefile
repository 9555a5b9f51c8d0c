# `make help` lists the targets.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

MODULES := $(shell sed -n 's,^\t\./,,p' go.work)
# The tools that stand outside of go.work, so that the product does not depend on what they need.
TOOLS := tools tools/kubernetes tools/mutants tools/reference tools/structure
TOOL := GOWORK=off go -C tools tool
BUF = GOWORK=off $$($(TOOL) -n buf)
LINT = $$(GOWORK=off go -C tools/lint tool -n golangci-lint)
FUZZTIME ?= 20s
FAULTS ?= -bench Soak -benchtime 1x -args -kills 30 -flood 1m -away 20s
BENCH ?= .
BENCHFLAGS ?=
REPLICAS ?= -loops 10000 -races 10000 -deactivations 500
BINARY ?= .build/herald
IMAGE ?= herald:local
# Where the instance of `make run` is, with the settings of this terminal.
ADDRESS = $${HERALD_PUBLIC_URL:-http://localhost:$$(sed 's/.*://' <<<$${HERALD_LISTEN:-:8080})}
ADMIN = $${HERALD_ADMIN_PAT_FILE:-$${HERALD_DATA_DIR:-.data}/admin.pat}
CERTIFICATES := /etc/ssl/certs/ca-certificates.crt /etc/pki/tls/certs/ca-bundle.crt /etc/ssl/cert.pem

.PHONY: help
help: ## List the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14

.PHONY: build
build: ## Build the binary, .build/herald
	@go build -ldflags -funcalign=8 -o $(BINARY) ./deploy/herald # code takes less memory

.PHONY: run
run: ## Run everything on this machine; ^C stops it
	@deploy/setup.sh run
	@$(MAKE) --no-print-directory build
	@exec $(BINARY) run

.PHONY: example
example: ## Run an application that people log in to, beside `make run`
	@exec go run ./examples/login -issuer "$(ADDRESS)" "$(ADMIN)"

.PHONY: directory
directory: ## Run a directory with whose account people log in, beside `make run`
	@exec examples/directory/run.sh "$${HERALD_DIRECTORY_AUTHORITY:-http://localhost:4000}" "$(ADDRESS)"

.PHONY: test # `make check` vets
test: ## Run all tests, on real servers and a real browser
	@deploy/setup.sh test
	@deploy/setup.sh clients
	@# Compiling everything would make tests slow that run meanwhile.
	@go build -o /dev/null work
	@for m in $(TOOLS); do GOWORK=off go -C $$m build -o /dev/null ./...; done
	@TMPDIR=$$(deploy/tmpdir.sh) go test -vet=off -timeout 45m work
	@for m in $(TOOLS); do GOWORK=off go -C $$m test -vet=off ./...; done

.PHONY: check
check: ## Check formatting, style, contracts, generated code and module files
	@files=$$(gofmt -l $(MODULES) $(TOOLS) | grep -v /gen/ || true); \
		[ -z "$$files" ] || { printf 'not formatted: run `gofmt -w` on\n%s\n' "$$files" >&2; exit 1; }
	@files=$$(git grep -lE '^(<<<<<<<|>>>>>>>) ' || true); \
		[ -z "$$files" ] || { printf 'a merge was not finished in\n%s\n' "$$files" >&2; exit 1; }
	@GOWORK=off go -C tools/structure test -count=1 . | { ! grep -v "^ok"; }
	@lint=$(LINT); $$lint run --allow-parallel-runners $(MODULES:%=./%/...); \
		for m in $(TOOLS); do (cd $$m && GOWORK=off $$lint run --allow-parallel-runners); done
	@go test -run '^TestTexts' ./services/text/internal/domain ./services/auth/internal/web/frame | { ! grep -v "^ok"; }
	@$(BUF) lint
	@$(BUF) format --diff --exit-code > /dev/null || { echo 'contracts are not formatted: run `make generate`'; exit 1; }
	@$(BUF) breaking --against shared/proto/released.binpb
	@deploy/generate.sh --check
	@for m in $(MODULES) $(TOOLS); do (cd $$m && GOWORK=off go mod tidy -diff) || { echo "$$m/go.mod is not tidy: run \`go mod tidy\` there"; exit 1; }; done

.PHONY: generate
generate: ## Generate code and documents from the contracts in shared/proto
	@$(BUF) format -w
	@deploy/generate.sh

.PHONY: fuzz
fuzz: ## Fuzz every parser of strangers' input, FUZZTIME each (default 20s)
	@FUZZTIME=$(FUZZTIME) deploy/fuzz.sh

.PHONY: faults
faults: ## Kill, freeze, flood and damage a running system for an hour, and check what is left (docs/faults.md)
	@deploy/setup.sh test
	@TMPDIR=$$(deploy/tmpdir.sh) go test -count=1 -v -timeout 60m ./deploy/herald/test/faults $(FAULTS)
	@TMPDIR=$$(deploy/tmpdir.sh) go test -count=1 -v -timeout 30m -run DamagedStream ./shared/event -args -damages
	@TMPDIR=$$(deploy/tmpdir.sh) go test -count=1 -v -run TestRelay ./services/notification/internal/delivery

.PHONY: mutants
mutants: ## Remove each check in turn; a test must fail without it (ARGS: -only REGEXP, -resume)
	@deploy/setup.sh test
	@GOWORK=off go -C tools/mutants build -o $(CURDIR)/.build/mutants/mutants .
	@TMPDIR=$$(deploy/tmpdir.sh) .build/mutants/mutants $(ARGS)

.PHONY: bench
bench: ## Measure the whole system beside its floor, in the same run (docs/performance.md)
	@deploy/setup.sh run
	@mkdir -p .build
	@go test -run '^$$' -bench '$(BENCH)' -benchtime 1x -timeout 60m $(BENCHFLAGS) ./deploy/herald/test/bench | tee .build/bench.txt || \
		{ grep '^falls short' .build/bench.txt; exit 1; }
	@go test -count=1 -v ./deploy/herald/test/replicas $(REPLICAS)

.PHONY: release
release: ## Build the archives of a release twice, and compare them bit for bit (VERSION=1.2.0)
	@deploy/release.sh $(VERSION)

.PHONY: images
images: ## Build the image of all services, IMAGE (default herald:local)
	@mkdir -p .build/image
	@deploy/image.sh .build/image/herald
	@cp $(firstword $(wildcard $(CERTIFICATES))) .build/image/ca-certificates.crt
	@docker build --quiet --tag $(IMAGE) --file deploy/Dockerfile.binary .build/image

.PHONY: up
up: images ## Run everything in containers
	@docker compose up --detach --wait

.PHONY: down
down: ## Stop the containers; their volumes stay
	@docker compose down

.PHONY: compose-test
compose-test: ## Test docker-compose.yml on a real engine, which is started if none runs
	@deploy/compose/test.sh
