#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# hack/test-wine.sh runs the Go tests of packages under Wine: hack/test-wine.sh [PACKAGE…], by default the kernel of
# real Windows. Each package is cross-compiled and its tests run in its own folder, as go test does. It makes the Wine
# tree when there is none, and needs root for that and for the runs.
# GO_TEST_FLAGS are passed to each test program: GO_TEST_FLAGS='-test.run=TestDelete -test.v'.
set -euo pipefail

cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- ./internal/kernel/windows

hack/wine.sh setup
programs=$(mktemp -d)
trap 'rm -rf "$programs"' EXIT

failed=0
for package in "$@"; do
	import=$(GOOS=windows go list "$package")
	program=$programs/${import##*/}.test.exe
	GOOS=windows GOARCH=amd64 CGO_ENABLED=0 go test -c -o "$program" "$package"
	if [ ! -e "$program" ]; then
		echo "?   	$import	[no test files]"
		continue
	fi
	start=$(date +%s%N)
	code=0
	# shellcheck disable=SC2086 # a list of words
	hack/wine.sh run -t 300 -C "$(GOOS=windows go list -f '{{.Dir}}' "$package")" "$program" \
		-test.timeout=280s ${GO_TEST_FLAGS:-} </dev/null || code=$?
	elapsed=$(($(date +%s%N) - start))
	verdict='ok  '
	if [ "$code" -ne 0 ]; then
		verdict=FAIL
		failed=1
	fi
	printf '%s\t%s\t%d.%03ds (wine)\n' "$verdict" "$import" $((elapsed / 1000000000)) $((elapsed / 1000000 % 1000))
done
exit "$failed"
