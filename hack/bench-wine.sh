#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# hack/bench-wine.sh [PAGE [FLAG…]] measures csi-proxy.exe beside a gRPC echo under Wine, prints the table, and puts it
# into PAGE. FLAGs are those of test/bench. It makes the Wine tree when there is none, and needs root.
#
# UPSTREAM is another agent to measure in the same run: a csi-proxy.exe, a directory with the original's sources, or
# a version of it from the Go module proxy, such as v1.2.1. CPUS names the processors as taskset does (default: all).
set -euo pipefail
cd "$(dirname "$0")/.."
page=${1:+$(realpath "$1")}
[ $# -eq 0 ] || shift

hack/wine.sh setup
# In memory: Linux maps up to 2 MiB at once of a file that was just written to a disk, and all of it counts as used.
work=$(mktemp -d -p /dev/shm)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
export GOOS=windows GOARCH=amd64 CGO_ENABLED=0 GOWORK=off
hack/build.sh "$work/programs"
go build -trimpath -ldflags=-s -o "$work/programs/" ./test/bench
upstream=${UPSTREAM:-}
if [[ $upstream == v[0-9]* ]]; then # outside of a module, or this one would take its place
	upstream=$(cd "$work" && go mod download -json "github.com/kubernetes-csi/csi-proxy@$upstream" |
		sed -n 's/^\t"Dir": "\(.*\)",$/\1/p') || upstream=
	[ -n "$upstream" ] || {
		echo "bench-wine.sh: the module proxy has no $UPSTREAM: name a directory with its sources" >&2
		exit 1
	}
fi
if [ -d "$upstream" ]; then
	cp -r --no-preserve=mode "$upstream" "$work/upstream"
	(cd "$work/upstream" && GOFLAGS=-mod=mod go build -trimpath -ldflags=-s -o "$work/programs/upstream.exe" ./cmd/csi-proxy)
elif [ -n "$upstream" ]; then
	cp "$upstream" "$work/programs/upstream.exe"
fi
[ -z "$upstream" ] || set -- '-upstream=Z:\binaries\upstream.exe' "$@"
${CPUS:+taskset --cpu-list "$CPUS"} hack/wine.sh run -t 3600 -b "$work/programs" "$work/programs/bench.exe" \
	'-programs=Z:\binaries' "$@" </dev/null >"$work/table"
echo "${UPSTREAM:+upstream: $(basename "$UPSTREAM"). }$(date -u +%F), $(go env GOVERSION)." >>"$work/table"
cat "$work/table"
[ -z "$page" ] || sed -i -e '/^<!-- wine -->$/,/^<!-- end -->$/{//!d}' -e "/^<!-- wine -->\$/r $work/table" "$page"
