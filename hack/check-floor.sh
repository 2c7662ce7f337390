#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the modules that drivers import, and runs their tests, with the oldest Go and the oldest dependencies that they promise: their
# go.mod names both, and without the workspace Go selects exactly these versions. The workspace selects newer ones, so
# `make test` is the same check with those. The Go module proxy has the old Go, about 60 MB the first time, and it compiles its
# library and all else anew: FLOOR_GO=local tries the oldest dependencies alone, with the Go that is installed.
set -euo pipefail
cd "$(dirname "$0")/.."
export GOWORK=off GOFLAGS=-trimpath

for module in client mounter; do
	oldest=$(awk '$1 == "go" {print $2}' "$module/go.mod")
	export GOTOOLCHAIN=${FLOOR_GO:-go$oldest}
	if ! go version >/dev/null; then
		echo "$module: Go $oldest cannot be downloaded here, so a newer Go checks the language version of go.mod alone" >&2
		export GOTOOLCHAIN=local
	fi
	(
		cd "$module"
		echo "$module: $(go env GOVERSION), $(go list -m google.golang.org/grpc google.golang.org/protobuf | paste -sd, | sed 's/,/, /')"
		go build ./...
		go test ./... | sed '/no test files/d'
		GOOS=windows go build ./...
	)
done

# Everything else of make and CI goes by the workspace, which hides a module's missing requirement.
for module in v2 test/published; do
	(cd "$module" && GOTOOLCHAIN=local go vet ./...)
done
for module in cmd/csi-proxyctl csisanity examples/csi-driver test; do # to list what is imported is enough, and takes a second
	(cd "$module" && GOTOOLCHAIN=local go list -deps -test ./... >/dev/null)
done
