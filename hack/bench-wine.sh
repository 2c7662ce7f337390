#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# hack/bench-wine.sh FILE [FLAG…] measures the agent as a Windows program under Wine: its size, its start, its memory,
# its latency, and writes FILE. FLAGs are those of test/winbench. It makes the Wine tree when there is none, and needs root.
set -euo pipefail
cd "$(dirname "$0")/.."

out=${1:?the page to write}
shift
hack/wine.sh setup
read -r one five _ </proc/loadavg
# In memory: of files that were just written to a disk, Linux maps up to 2 MiB at once, all of which counts as working set.
work=$(mktemp -d -p /dev/shm)
trap 'rm -rf "$work"' EXIT
mkdir "$work/out"
binaries=$work/commands
export GOOS=windows GOARCH=amd64 CGO_ENABLED=0 GOWORK=off
hack/build.sh "$binaries"
go build -trimpath -ldflags=-s -o "$binaries/" ./test/winbench/empty
go build -trimpath -ldflags=-s -o "$work/winbench.exe" ./test/winbench

# winbench PROCESSORS FLAG…
winbench() {
	local processors=$1
	shift
	taskset --cpu-list "$processors" hack/wine.sh run -t 1200 -C "$work/out" -b "$binaries" "$work/winbench.exe" \
		'-agent=Z:\binaries\csi-proxy.exe' '-empty=Z:\binaries\empty.exe' "$@" </dev/null
}

# A program that starts under Wine asks Wine's server some nine hundred things before its main. Where it takes processors
# long to wake each other, as on many virtual machines, that is most of what would be measured: hence one processor.
all=$(taskset --cpu-list --pid $$ | sed 's/.*: //')
some=${all##*[-,]}
winbench "$all" -starts-only -o starts.md
{
	printf '\nAll of this ran on one processor, Wine'\''s server with it: a program that starts under Wine asks that server some nine\n'
	printf 'hundred things before its main begins. On all %s processors, where each answer may first have to wake another one:\n\n' "$(nproc)"
	cat "$work/out/starts.md"
} >"$work/out/also.md"
winbench "$some" "-load=$one over the last minute, $five over five" -also=also.md -o page.md "$@"
cp "$work/out/page.md" "$out"
