#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# hack/evidence.sh [LEVEL…] runs the tests of the levels of docs/evidence.md, keeps their results in docs/evidence/LEVEL.json,
# and writes the page. The levels are pure, emulated, and wine-emulated and wine-windows, which need root for Wine; without an
# argument all four. What Windows shows comes from the reports of csi-proxy-prove.
set -euo pipefail
cd "$(dirname "$0")/.."

events=$(mktemp)
trap 'rm -f "$events"' EXIT
commit=$(git rev-parse --short=12 HEAD)
[[ -z $(git status --porcelain) ]] || commit="$commit and changes"
go=$(go env GOVERSION)
here="$(go env GOOS)/$(go env GOARCH), $go"
wine="Wine on $(go env GOOS)/$(go env GOARCH), $go"

# record LEVEL SYSTEM COMMAND <EVENTS
record() {
	mkdir -p docs/evidence
	go run ./test/evidence -level "$1" -system "$2" -command "$3" -commit "$commit" \
		-date "${DATE:-$(date -u +%F)}" -o "docs/evidence/$1.json"
}

# under_wine PACKAGE FLAG… prints the events of a package's tests under Wine.
under_wine() {
	local package=$1
	shift
	{ V=1 WINE_TEST_SECONDS=1200 GO_TEST_FLAGS="-test.v=test2json $*" hack/test-wine.sh "$package" || true; } |
		go tool test2json -p "$package" >"$events"
}

[[ $# -gt 0 ]] || set -- pure emulated wine-emulated wine-windows
for level in "$@"; do
	echo "evidence: $level" >&2
	case $level in
	pure)
		(cd client && go test -json -count=1 ./versions) >"$events" || true
		record pure "$here" 'go test ./client/versions' <"$events"
		;;
	emulated)
		go test -json -count=1 -timeout 20m ./test/conformance >"$events" || true
		record emulated "$here" 'go test ./test/conformance' <"$events"
		;;
	wine-emulated)
		under_wine ./test/conformance
		record wine-emulated "$wine" 'hack/test-wine.sh ./test/conformance' <"$events"
		;;
	wine-windows)
		under_wine ./test/operation -test.run=OnThisMachine
		record wine-windows "$wine" 'hack/test-wine.sh ./test/operation' <"$events"
		;;
	*)
		echo "evidence.sh: there is no level $level" >&2
		exit 2
		;;
	esac
done
go run ./test/evidence -o docs/evidence.md docs/evidence
