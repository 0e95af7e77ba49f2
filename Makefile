# Fairlead. `make help` explains; README's two commands are `make demo` (or `make up`) and `make test`.

SHELL       := /bin/bash
GO          ?= go
BIN         := bin/fairlead
PKGS        := ./...
VERSION     ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS     := -s -w -X fairlead/cmd/internal/cli.version=$(VERSION)
GOLANGCI    := v2.15.0
COMPOSE     ?= $(shell if docker compose version >/dev/null 2>&1; then echo docker compose; else echo docker-compose; fi)
# The race detector needs cgo and a C compiler; without one the tests run without it, and say so.
HAVE_CC     := $(shell command -v $${CC:-cc} >/dev/null 2>&1 && echo yes)
RACE        := $(if $(HAVE_CC),-race,)
TESTENV     := $(if $(HAVE_CC),CGO_ENABLED=1,)
FUZZTIME    ?= 15s

.DEFAULT_GOAL := help
.PHONY: help build test race cover fuzz bench lint check ci demo image up down e2e fmt screenshots

help: ## this text
	@awk -F':.*## ' '/^[a-z0-9]+:.*## /{printf "  make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## the static binary, bin/fairlead
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags='$(LDFLAGS)' -o $(BIN) ./cmd/fairlead

test: ## all tests, end to end too when an engine answers; race detector where a C compiler is found
	@$(if $(HAVE_CC),echo "race detector: on",echo "race detector: OFF (no C compiler found; install one to run with it)")
	$(TESTENV) $(GO) test $(RACE) $(COVER) -shuffle=on -timeout 10m $$($(GO) list $(PKGS) | grep -v -e /deploy/e2e -e /dashboard)
	$(TESTENV) $(GO) test $(RACE) $(COVER) -shuffle=on -timeout 10m ./dashboard # alone: a browser promises seconds
	$(GO) test -count=1 -timeout 20m -v ./deploy/e2e

race: ## the tests with the race detector, or an error without a C compiler
	CGO_ENABLED=1 $(GO) test -race -shuffle=on -timeout 10m $(PKGS)

cover: ## tests with coverage and its floors (85 %; 95 % for the pure packages)
	.ci/coverage

fuzz: ## every fuzz target for FUZZTIME each (default 15s)
	FUZZTIME=$(FUZZTIME) .ci/fuzz

bench: ## benchmarks, peers in the same run
	$(GO) test -run '^$$' -bench . -benchmem -benchtime 1s $(PKGS)

screenshots: ## pictures of every page of the dashboard in docs/images (needs Chromium)
	FAIRLEAD_REQUIRE_BROWSER=1 $(GO) test -count=1 -run TestScreenshots ./dashboard -screenshots "$(CURDIR)/docs/images"

fmt: ## format the source
	gofmt -w $$(git ls-files '*.go')

lint: ## golangci-lint (pinned, built once from the module proxy)
	.ci/tool golangci-lint github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI) run $(PKGS)

check: ## what CI checks without running tests: format, vet, modules, lint, sizes
	.ci/check
	@$(MAKE) --no-print-directory lint

e2e: ## the end-to-end tests against the Docker engine (never skipped)
	FAIRLEAD_REQUIRE_DOCKER=1 FAIRLEAD_E2E=1 $(GO) test -count=1 -timeout 20m -v ./deploy/e2e

ci: ## everything CI runs: check, cover, test with Docker, image
	.ci/ci

demo: build ## the demo: router, dashboard and backends in one process, without Docker
	@$(BIN) demo

image: ## the container image fairlead:latest, FROM scratch
	builder=$$(deploy/choose-builder.sh) && docker build --build-arg BUILDER=$$builder --build-arg VERSION=$(VERSION) -t fairlead:latest -f deploy/Dockerfile .

up: ## build the image and start docker-compose.yml
	deploy/up.sh

down: ## stop what `make up` started
	$(COMPOSE) -f docker-compose.yml down --remove-orphans
