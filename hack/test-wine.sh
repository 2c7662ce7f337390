#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# hack/test-wine.sh runs the Go tests of packages under Wine: hack/test-wine.sh [PACKAGE…], by default the ones listed
# below; all stands for every package of the workspace but those that are left out below, with the reasons.
# Each package is cross-compiled and its tests run in its own folder, as go test does, as many packages at once as there
# are processors. The commands are in Z:\binaries, which CSI_PROXY_BIN names, and so are the DLLs of test/windows/fakes,
# which a test can put in the place of what Wine lacks. It makes the Wine tree when there is none, and needs root for
# that and for the runs.
# A package may take WINE_TEST_SECONDS (900). GO_TEST_FLAGS are passed to each test program: GO_TEST_FLAGS='-test.run=TestDelete -test.v'.
# CSI_PROXY_LONG=1 makes the tests try everything, as in make test-long: give the package. The repository is Z:\work.
# The tests' output is shown when they fail, or with V=1.
set -euo pipefail

cd "$(dirname "$0")/.."
build=hack/build.sh
[ $# -gt 0 ] || build=hack/windows-tests.sh # and the programs are those that a Windows machine gets
[ $# -gt 0 ] || set -- \
	./internal/agent/kernel/windows/... \
	./internal/agent/transport \
	./client/dial \
	./test/operation \
	./test/conformance \
	./test/published \
	./test/sequences \
	./test/windows \
	./internal/agent/logfile \
	./internal/agent/winservice \
	./internal/testing/machine \
	./v2 \
	./v2/pkg/disk/hostapi \
	./examples/csi-driver \
	./cmd/csi-proxy

seconds=${WINE_TEST_SECONDS:-900}
hack/wine.sh setup
hack/setup.sh fakes
programs=$(mktemp -d)
trap 'rm -rf "$programs"' EXIT
export GOOS=windows GOARCH=amd64 CGO_ENABLED=0
"$build" "$programs/commands"
for build in test/windows/fakes/*/build.sh; do "$build" "$programs/commands"; done
# A driver's tests, as its author compiles them: test/operation runs them against the machine.
go test -c -trimpath -vet=off -o "$programs/commands/driver.test.exe" ./csiproxytest

# judge IMPORT KIND COMMAND… runs a command with a test program and reports how it ended.
judge() {
	local import=$1 kind=$2 start code=0 elapsed verdict='ok  ' output
	shift 2
	output=$(mktemp -p "$programs")
	start=$(date +%s%N)
	"$@" </dev/null >"$output" 2>&1 || code=$?
	elapsed=$(($(date +%s%N) - start))
	if [ "$code" -ne 0 ]; then
		verdict=FAIL
		touch "$programs/failed"
	fi
	[ "$code" -eq 0 ] && [ -z "${V:-}" ] || cat "$output"
	printf '%s\t%s\t%d.%03ds (%s)\n' "$verdict" "$import" $((elapsed / 1000000000)) $((elapsed / 1000000 % 1000)) "$kind"
}

# try IMPORT compiles a package's tests and runs them.
try() {
	local dir package program tests
	dir=$(go list -f '{{.Dir}}' "$1")
	package=${dir#"$PWD"/}
	program=$programs/commands/${package//\//-}.test.exe
	[ -e "$program" ] || go test -c -trimpath -vet=off -o "$program" "$1"
	# A line of the plan without variables has the tests that touch nothing of the machine.
	tests=$(awk -v package="$package" '$2 == package && NF == 3 {print $3}' test/windows/plan.txt)
	# shellcheck disable=SC2086 # a list of words
	judge "$1" wine hack/wine.sh run -t "$seconds" -C . -d "${dir#"$PWD"}" -b "$programs/commands" -e 'CSI_PROXY_BIN=Z:\binaries' -e "CSI_PROXY_LONG=${CSI_PROXY_LONG:-}" \
		"$program" -test.timeout="$((seconds - 20))s" -test.run="${tests:-.}" ${GO_TEST_FLAGS:-}
	# Those tests skip themselves above: they need a node whose files are their own.
	if grep -qs '^func TestOffWindows' "$dir"/*_test.go; then
		judge "$1" off-windows hack/off-windows.sh -t "$seconds" -o "$programs/${1##*/}" -b "$programs/commands" -a '-working-dir=C:\csi' -a '-working-dir=C:\ProgramData\Amazon\ECS' "$program" -test.run='^TestOffWindows' -test.v
	fi
}

left_out='^$'
if [ "$*" = all ]; then
	mapfile -t all < <(go list -m -f '{{.Path}}/...')
	set -- "${all[@]}"
	# Its tests call go and git, which are not in the tree.
	left_out="^$(GOWORK=off go list -m)\$"
fi
for import in $(go list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}' "$@" | sort -u | grep -vE "$left_out"); do
	[ "$(jobs -rp | wc -l)" -lt "$(nproc)" ] || wait -n
	{ try "$import" || touch "$programs/failed"; } &
done
wait
# A tool that shares nothing with this project finds the disks sound that tests left in Z:\binaries\judged.
for image in "$programs"/commands/judged/*.img; do
	[ -e "$image" ] || continue
	verdict=$(sgdisk -v "$image" 2>&1) || true
	grep -q '^No problems found' <<<"$verdict" || {
		echo "$verdict"
		touch "$programs/failed"
	}
done
[ ! -e "$programs/failed" ]
