#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# hack/bench.sh FILE [FLAG…] measures the agent on emulated nodes and writes FILE: everything on all processors of this machine,
# and on one what sets agents side by side. FLAGs are those of test/bench.
set -euo pipefail
cd "$(dirname "$0")/.."

out=${1:?the page to write}
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
go build -trimpath -o "$work/" ./test/bench
go build -trimpath -ldflags='-s -w' -o "$work/programs/" ./cmd/csi-proxy ./cmd/csi-proxy-emulated ./test/bench/empty
"$work/bench" -programs="$work/programs" -o="$work/page.md" "$@" >/dev/null
all=$(taskset --cpu-list --pid $$ | sed 's/.*: //')
if [ "$(nproc)" -gt 1 ]; then
	echo >>"$work/page.md"
	taskset --cpu-list "${all##*[-,]}" "$work/bench" -programs="$work/programs" -side "$@" >>"$work/page.md"
fi
cp "$work/page.md" "$out"
