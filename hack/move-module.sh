#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# hack/move-module.sh NEW gives the modules of a clean checkout another path, such as example.com/csi-proxy, in every file,
# and generates again what is generated. URLs, which cite the original, and the names on the wire stay.
set -euo pipefail
new=${1:?the new module path, such as example.com/csi-proxy}
cd "$(dirname "$0")/.."
[[ $new =~ ^[a-z0-9.-]+\.[a-z]+(/[A-Za-z0-9._-]+)+$ ]] || {
	echo "move-module.sh: $new is not a module path" >&2
	exit 2
}
[[ -z $(git status --porcelain) ]] || {
	echo "move-module.sh: there are changes that are not committed" >&2
	exit 2
}
old=$(GOWORK=off go list -m)
git grep -lIF "$old" -- ':!hack/move-module.sh' ':!*.pb.go' | xargs sed -i -E "s#(^|[^/])${old//./\\.}#\1$new#g"
# Descriptors have lengths in them, and the generators are linked with the ones that are there.
git ls-files '*.pb.go' | xargs sed -i "s#\"$old#\"$new#"
git ls-files '*.go' | xargs gofmt -w
make image generate
go build ./... && go vet ./client/... ./cmd/...
echo "Moved $old to $new. Read git diff --stat, run .ci/run, commit."
