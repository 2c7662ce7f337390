#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# hack/build.sh DIR [VERSION] builds csi-proxy and csi-proxyctl into DIR, for GOOS and GOARCH. Every build goes through it:
# `make build`, `make cross`, the release and the image. With a VERSION the commands print that version, and the
# files depend only on the sources, VERSION and Go's own version; otherwise Go takes the version from git.
set -euo pipefail
mkdir -p "${1:?the directory for the commands}"
dir=$(cd "$1" && pwd) version=${2:-}
cd "$(dirname "$0")/.."
export GOWORK=off GOFLAGS='' CGO_ENABLED=0 GOAMD64='' GOARM64=''

# docs/releasing.md, "Size", has the reasons for the tags, -s and -l.
flags=()
for package in crypto/{tls,x509} net/http go.yaml.in/yaml/... github.com/prometheus/... k8s.io/... \
	google.golang.org/protobuf/{reflect/...,types/...,encoding/prototext,encoding/protojson,internal/encoding/json,internal/encoding/text} \
	github.com/kubernetes-csi/csi-proxy/internal/kernel/emulated; do flags+=("-gcflags=$package=-l"); done
flags+=(-trimpath -tags=grpcnotrace,nethttpomithttp2 -ldflags=-s)
[[ -z $version ]] || flags+=(-trimpath -tags=grpcnotrace,nethttpomithttp2 -buildvcs=false
	"-ldflags=-s -X github.com/kubernetes-csi/csi-proxy/internal/buildversion.linked=$version")
go build "${flags[@]}" -o "$dir/" ./cmd/csi-proxy ./cmd/csi-proxyctl

# Nodes get csi-proxy.exe. The agent for Linux has the page, too, and is nobody's but a developer's.
[[ $(go env GOEXE) == .exe ]] || exit 0
most=16000000
size=$(wc -c <"$dir/csi-proxy.exe")
if ((size > most)); then
	echo "build.sh: csi-proxy.exe has $size bytes, more than $most; docs/releasing.md, \"Size\", shows how to find the reason" >&2
	exit 1
fi
