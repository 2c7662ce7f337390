#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# hack/build.sh DIR [VERSION] builds csi-proxy, csi-proxy-emulated and csi-proxyctl into DIR, for GOOS and GOARCH. Every build
# goes through it: `make build`, `make cross`, the release and the images. With a VERSION the commands print that version, and
# the files depend only on the sources, VERSION and Go's own version; otherwise Go takes the version from git.
set -euo pipefail
mkdir -p "${1:?the directory for the commands}"
dir=$(cd "$1" && pwd) version=${2:-}
cd "$(dirname "$0")/.."
export GOWORK=off GOFLAGS='' CGO_ENABLED=0 GOAMD64='' GOARM64=''

flags=(-trimpath -tags=grpcnotrace -ldflags=-s)
[[ -z $version ]] || flags+=(-buildvcs=false
	"-ldflags=-s -X github.com/kubernetes-csi/csi-proxy/internal/buildversion.linked=$version")
go build "${flags[@]}" -o "$dir/" ./cmd/csi-proxy ./cmd/csi-proxy-emulated ./cmd/csi-proxyctl
