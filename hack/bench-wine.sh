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
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/binaries" "$work/out"
export GOOS=windows GOARCH=amd64 CGO_ENABLED=0 GOWORK=off
# As hack/release builds it.
go build -trimpath -ldflags="-s -w" -tags=grpcnotrace -o "$work/binaries/" ./cmd/csi-proxy
go build -trimpath -ldflags="-s -w" -o "$work/binaries/" ./test/winbench/empty
go build -trimpath -o "$work/winbench.exe" ./test/winbench
read -r one five _ </proc/loadavg
hack/wine.sh run -t 1200 -C "$work/out" -b "$work/binaries" "$work/winbench.exe" \
	'-agent=Z:\binaries\csi-proxy.exe' '-empty=Z:\binaries\empty.exe' "-load=$one over the last minute, $five over five" \
	-o page.md "$@" </dev/null
cp "$work/out/page.md" "$out"
