#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# hack/build-prove.sh GOOS-GOARCH FILE [VERSION [DIR]] builds csi-proxy-prove, the one file that tries CSI Proxy on a machine: the
# program, with the commands, the compiled tests and the files of DIR in a zip at its end. With a VERSION it prints that version, and
# its bytes depend only on the sources, VERSION, DIR and Go's own version. TESTS names the suites that go into it (all).
set -euo pipefail
target=${1:?the system and architecture, such as windows-amd64} out=$(realpath -m "${2:?the file for the kit}") version=${3:-}
texts=${4:+$(realpath "$4")}
cd "$(dirname "$0")/.."
export GOWORK=off GOFLAGS='' CGO_ENABLED=0 GOAMD64='' GOARM64=''
export GOOS=${target%-*} GOARCH=${target#*-}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
exe=$(go env GOEXE)
flags=(-trimpath -tags=grpcnotrace,nethttpomithttp2 -ldflags=-s)
[[ -z $version ]] || flags=(-trimpath -tags=grpcnotrace,nethttpomithttp2 -buildvcs=false
	"-ldflags=-s -X github.com/kubernetes-csi/csi-proxy/internal/agent/buildversion.linked=$version")

tests='conformance sequences' programs=()
if [[ $GOOS == windows ]]; then
	tests='conformance operation sequences windows'
	programs=(./bench)
fi
read -r -a tests <<<"${TESTS-$tests}"
hack/build.sh "$work/programs" "$version"
go -C cmd/csi-proxy-prove build "${flags[@]}" -o "$work/" .
for test in "${tests[@]}"; do
	go -C test test -c "${flags[@]}" -o "$work/programs/$test.test$exe" "./$test"
done
[[ ${#programs[@]} -eq 0 ]] || go -C test build "${flags[@]}" -o "$work/programs/" "${programs[@]}"
[[ -z $texts ]] || cp "$texts"/* "$work/programs/"
chmod 755 "$work"/programs/*
TZ=UTC touch -d 1980-01-01 "$work"/programs/* # the zip has modes and times
mkdir -p "$(dirname "$out")"
TZ=UTC env -u GOOS -u GOARCH go -C cmd/csi-proxy-prove run . pack "$work/csi-proxy-prove$exe" "$work/programs" "$out"
