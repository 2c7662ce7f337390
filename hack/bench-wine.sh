#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# hack/bench-wine.sh FILE [FLAG…] measures the agent as a Windows program under Wine: its size, its start, its memory,
# its latency, and writes FILE. FLAGs are those of test/bench. It makes the Wine tree when there is none, and needs root.
#
# CPUS names the processors as taskset does (default: the last one). What sets agents side by side is measured once more on all. A program that starts under Wine asks Wine's server
# some nine hundred questions before its main. Where processors are slow to wake each other, as on many virtual machines,
# a run on several would measure mostly that. UPSTREAM is another csi-proxy.exe to measure in the same run.
set -euo pipefail
cd "$(dirname "$0")/.."

out=${1:?the page to write}
shift
hack/wine.sh setup
read -r load _ </proc/loadavg
# In memory, because Linux maps up to 2 MiB at once of a file that was just written to a disk, all of which counts as working set.
work=$(mktemp -d -p /dev/shm)
trap 'rm -rf "$work"' EXIT
mkdir "$work/out"
binaries=$work/programs
export GOOS=windows GOARCH=amd64 CGO_ENABLED=0 GOWORK=off
hack/build.sh "$binaries"
go build -trimpath -ldflags=-s -o "$binaries/" ./test/bench ./test/bench/empty
# The empty program with as many bytes as the agent has more: what of the agent's figures is due to its size alone.
head -c "$(($(stat -c %s "$binaries/csi-proxy.exe") - $(stat -c %s "$binaries/empty.exe")))" /dev/zero >"$work/ballast"
cat >"$work/ballast.go" <<'END'
package main

import _ "embed"

//go:embed ballast
var ballast string

func init() {
	if ballast == "" {
		panic("no ballast")
	}
}
END
printf '{"Replace": {"%s/ballast": "%s/ballast", "%s/ballast.go": "%s/ballast.go"}}' \
	"$PWD/test/bench/empty" "$work" "$PWD/test/bench/empty" "$work" >"$work/overlay.json"
go build -trimpath -ldflags=-s -overlay "$work/overlay.json" -o "$binaries/large.exe" ./test/bench/empty
if [ -n "${UPSTREAM:-}" ]; then
	cp "$UPSTREAM" "$binaries/upstream.exe"
	set -- '-upstream=Z:\binaries\upstream.exe' "$@"
fi
all=$(taskset --cpu-list --pid $$ | sed 's/.*: //')
# bench CPUS PAGE FLAG…
bench() {
	taskset --cpu-list "$1" hack/wine.sh run -t 3600 -C "$work/out" -b "$binaries" "$binaries/bench.exe" \
		'-programs=Z:\binaries' -load="$load" -o="$2" "${@:3}" </dev/null
}
bench "${CPUS:-${all##*[-,]}}" page.md "$@"
if [ -z "${CPUS:-}" ] && [ "$(nproc)" -gt 1 ]; then
	bench "$all" all.md -side "$@"
	{ echo && cat "$work/out/all.md"; } >>"$work/out/page.md"
fi
cp "$work/out/page.md" "$out"
