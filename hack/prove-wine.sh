#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# hack/prove-wine.sh [DIR] builds csi-proxy-prove.exe and runs it under Wine as a person does, from start to report, reads the report,
# and then kills running kits at random moments and starts them again: KILLS times (2). The report and its page stay in
# DIR. It makes the Wine tree when there is none, and needs root. V=1 shows what the kit prints.
set -euo pipefail

cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
dir=${1:-$work/report}
hack/wine.sh setup
mkdir -p "$dir" "$work/kit"
begun=$(date +%s)
hack/build-prove.sh windows-amd64 "$work/kit/csi-proxy-prove.exe"
GOOS=windows GOARCH=amd64 CGO_ENABLED=0 go test -c -trimpath -o "$work/prove.test.exe" ./cmd/csi-proxy-prove
built=$(date +%s)
rm -f "$dir"/wine.json.gz "$dir"/wine.html
code=0
hack/wine.sh run -t "$((1800 + ${KILLS:-2} * 60))" -C "$dir" -b "$work/kit" -e 'CSI_PROXY_PROVE_KIT=Z:\binaries\csi-proxy-prove.exe' \
	-e 'CSI_PROXY_PROVE_REPORT=Z:\work\wine.json.gz' -e "CSI_PROXY_PROVE_KILLS=${KILLS:-2}" \
	"$work/prove.test.exe" -test.v -test.timeout=0 -test.run=Kit </dev/null >"$work/output" 2>&1 || code=$?
if [ "$code" -ne 0 ] || [ -n "${V:-}" ]; then cat "$work/output"; fi
grep -aE 'kills of a running kit' "$work/output" || true
echo "The kit was built in $((built - begun)) s and ran for $(($(date +%s) - built)) s."
grep -aE '^ *(This machine:|held|failed|not here|Parts:) ' "$work/output" || true
[ "$code" -eq 0 ] || exit "$code"
go run ./cmd/csi-proxy-prove show "$dir/wine.json.gz" >"$work/page"
cmp "$work/page" "$dir/wine.html"
