#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# hack/bench-wine.sh [PAGE] runs BenchmarkProgram of test/bench under Wine ROUNDS (8) times, each for TIME (1s), prints
# what benchstat makes of it, and puts that into PAGE. It makes the Wine tree when there is none, and needs root.
#
# UPSTREAM is another agent to measure in the same run: a csi-proxy.exe, a directory with the original's sources, or
# a version of it from the Go module proxy, such as v1.2.1. CPUS names the processors as taskset does (default: all).
set -euo pipefail
cd "$(dirname "$0")/.."
page=${1:+$(realpath "$1")}
benchstat=$(GOWORK=off go tool -modfile=tools/benchstat/go.mod -n benchstat)

hack/wine.sh setup
# In memory: Linux maps up to 2 MiB at once of a file that was just written to a disk, and all of it counts as used.
work=$(mktemp -d -p /dev/shm)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
export GOOS=windows GOARCH=amd64 CGO_ENABLED=0 GOWORK=off
hack/build.sh "$work/programs"
go -C test test -c -trimpath -vet=off -ldflags=-s -o "$work/programs/bench.test.exe" ./bench
# module PATH DIR copies the original's module of that version from the module proxy.
module() {
	local dir
	dir=$(cd "$work" && go mod download -json "$1@$UPSTREAM" | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p') && [ -n "$dir" ] || {
		echo "bench-wine.sh: the module proxy has no $1@$UPSTREAM: name a directory with the original's sources" >&2
		exit 1
	}
	cp -r --no-preserve=mode "$dir" "$2"
}
original=github.com/kubernetes-csi/csi-proxy
if [[ ${UPSTREAM:-} == v[0-9]* ]]; then
	module $original "$work/original"
	module $original/client "$work/original/client" # its go.mod takes that from there
elif [ -d "${UPSTREAM:-}" ]; then
	cp -r --no-preserve=mode "$UPSTREAM" "$work/original"
elif [ -n "${UPSTREAM:-}" ]; then
	cp "$UPSTREAM" "$work/programs/upstream.exe"
fi
[ ! -d "$work/original" ] ||
	(cd "$work/original" && GOFLAGS=-mod=mod go build -trimpath -ldflags=-s -o "$work/programs/upstream.exe" ./cmd/csi-proxy)
programs=(csi-proxy ${UPSTREAM:+upstream})
mkdir "$work/runs"
for ((i = 0; i < ${ROUNDS:-8}; i++)); do
	for program in "${programs[@]}"; do # in turns, so that a slow minute affects both
		${CPUS:+taskset --cpu-list "$CPUS"} hack/wine.sh run -t 3600 -b "$work/programs" \
			-e "CSI_PROXY_BENCH=Z:\\binaries\\$program.exe" "$work/programs/bench.test.exe" '-test.run=^$' -test.bench=Program \
			-test.benchtime="${TIME:-1s}" </dev/null | tee -a "$work/runs/$program" >&2
	done
done
{
	echo "$(date -u +%F), $(go env GOVERSION), $(nproc) processors, ${ROUNDS:-8} rounds" \
		"${UPSTREAM:+upstream: $(basename "$UPSTREAM")}"
	cd "$work/runs"
	"$benchstat" -filter '/via:(echo OR agent)' -table .file -col '/via@(echo agent)' "${programs[@]}"
	"$benchstat" -filter '-/via:echo' "${programs[@]}"
} | sed -e '/^\(goos\|goarch\|pkg\|cpu\):/d' -e '/^geomean/d' -e 's/ *(p=[0-9.]* n=[0-9]*)//' >"$work/table"
cat "$work/table"
[ -z "$page" ] || sed -i -e '/^<!-- wine -->$/,/^<!-- end -->$/{//!d}' \
	-e "/^<!-- wine -->\$/r /dev/stdin" "$page" < <(echo '```'; cat "$work/table"; echo '```')
