# Everything that is done here has a name; `make` lists them. All but `tools`
# works offline once the modules are there.

GO       ?= go
MODULES  = $$($(GO) list -m -f '{{.Dir}}')
PACKAGES = $$($(GO) list -m -f '{{.Dir}}/...')
FUZZ     ?= 30s
SEEDS    ?= 2000
KILLS    ?= 10
DURATION ?= 10m
BASE     ?= bin/bench-base.txt
HOT      ?= . ./actor ./shard ./transport ./wire

LINT_VERSION = v2.15.0
LINT         = bin/golangci-lint-$(LINT_VERSION)

.DEFAULT_GOAL := help
.PHONY: help bench bench-compare bench-quick chaos chaos-loss chaos-quick chaos-slow cover fmt fuzz kills lint moves mutants race run sbr-graphs scale schedules sim test tools vet

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' Makefile

bench: ## measure beside plain Go and peers; writes docs/performance.md
	@mkdir -p bin
	$(GO) run ./bench -page docs/performance.md -json bin/bench.json

bench-quick: ## the same in one round; writes nothing
	$(GO) run ./bench -rounds 1

bench-compare: bin/staticcheck ## benchmarks of the hot paths against a base, which SAVE=1 saves
	@[ -n "$(SAVE)" ] || [ -f $(BASE) ] || { echo "no base in $(BASE) yet: make bench-compare SAVE=1" >&2; exit 1; }
	$(GO) test -run '^$$' -bench . -benchmem -benchtime 0.3s -count 6 $(HOT) >bin/bench-new.txt
	@if [ -n "$(SAVE)" ]; then mv bin/bench-new.txt $(BASE); else bin/benchstat $(BASE) bin/bench-new.txt; fi

chaos: ## real nodes in network namespaces, all scenarios and strategies (needs root); renews docs/chaos.md
	.ci/chaos -run TestOneSideSurvives -parallel 5 -timeout 90m -whole -page ../docs/chaos.md

chaos-quick: ## the short form: the scenarios that find most
	.ci/chaos -run TestOneSideSurvives -parallel 6 -timeout 10m

chaos-loss: ## nobody is downed while 5 % of all packets are lost, for DURATION (10m)
	.ci/chaos -run TestNobodyIsDownedByLoss -timeout 60m -lasting $(DURATION)

chaos-slow: ## nobody is downed while one of nine nodes has 10 % of a processor, for DURATION (10m)
	.ci/chaos -run TestNobodyIsDownedBySlowness -timeout 60m -lasting $(DURATION)

cover: ## test coverage by function, the sum last
	@mkdir -p bin
	$(GO) test -coverprofile bin/cover.out $(PACKAGES)
	$(GO) tool cover -func bin/cover.out

fmt: $(LINT) ## format everything: gofumpt and the order of imports
	@for module in $(MODULES); do (cd $$module && $(CURDIR)/$(LINT) fmt ./...) || exit; done

fuzz: ## fuzz each decoder for FUZZ (30s)
	.ci/fuzz $(FUZZ)

kills: ## kill KILLS (10) busy nodes of DadBot, and say how soon others answer
	$(GO) test ./examples/dadbot -run TestCrashIsRecoveredFrom -kills $(KILLS) -timeout 30m -v | grep -v '^=== '

lint: $(LINT) bin/staticcheck vet ## all linters over all modules
	@for module in $(MODULES); do (cd $$module && $(CURDIR)/$(LINT) run ./...) || exit; done
	bin/staticcheck $(PACKAGES)

race: ## all tests with the race detector
	.ci/race

mutants: ## plant faults in the cores of membership and sharding; storms must find each
	$(GO) test ./internal/sim -run TestStormsFindPlants -mutants -v -timeout 60m
	$(GO) test ./shard/internal/shardsim -run TestMutants -v -timeout 60m

moves: ## rolling restarts, kills and scale-outs of real processes under load, all placements (half an hour); renews docs/moves.md
	$(GO) test ./examples/dadbot -run TestMoves -moves -page ../../docs/moves.md -timeout 90m -v | grep -v '^=== '

run: ## three nodes, one Dad: the scripted play
	$(GO) run ./examples/dadbot

sbr-graphs: ## every way in which links of five nodes can break, for each strategy
	$(GO) test ./sbr -run TestAtMostOneSideSurvives -nodes 5 -timeout 60m -v

scale: ## measure clusters of up to 1,000 nodes in virtual time; writes docs/scale.md
	@mkdir -p bin
	$(GO) test ./internal/sim -run TestScale -timeout 120m -scale $(CURDIR)/bin/scale.json
	$(GO) run ./bench/scale -from bin/scale.json

# Each of them is four storms, of which the seed decides the schedule.
schedules: SEEDS = 100
schedules: ## whole nodes by SEEDS (100) schedules, each of which can be replayed
	$(GO) run ./replay -seeds $(SEEDS) ./internal/stormtest -test.run TestStormOfWholeNodes -seeds 4

sim: ## the seeded simulations over SEEDS (2000) seeds
	$(GO) test ./internal/sim ./shard/internal/shardsim -timeout 60m -seeds $(SEEDS)

test: ## all tests of all modules
	$(GO) test $(PACKAGES)

tools: bin/staticcheck $(LINT) ## build the tools into bin

vet: ## go vet over all modules
	$(GO) vet $(PACKAGES)

# The tools' versions are those of tools/go.mod: a module of its own, so that
# no user of the library ever sees them.
bin/staticcheck: tools/go.mod
	cd tools && GOWORK=off GOBIN=$(CURDIR)/bin $(GO) install tool
	@touch $@

# Not in tools/go.mod: its several hundred modules would pin everybody else's.
# The first build takes some minutes.
$(LINT):
	GOBIN=$(CURDIR)/bin $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(LINT_VERSION)
	mv bin/golangci-lint $@
