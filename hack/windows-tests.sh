#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# hack/windows-tests.sh DIR compiles for Windows, on GOARCH (amd64), the tests of test/windows/plan.txt, the commands and
# the benchmark. It puts them into DIR with run.ps1, which runs them on a Windows machine without Go. The test of
# internal/agent/transport is internal-agent-transport.test.exe.
set -euo pipefail
mkdir -p "${1:?the directory for the programs}"
dir=$(cd "$1" && pwd)
cd "$(dirname "$0")/.."
export GOOS=windows GOARCH=${GOARCH:-amd64} CGO_ENABLED=0
hack/build.sh "$dir"
export GOWORK=off GOFLAGS='-trimpath -tags=grpcnotrace,nethttpomithttp2'
# test2json turns what a test prints into the lines of go test -json.
go build -ldflags=-s -o "$dir/" cmd/test2json
while read -r _ package _; do
	out=$dir/${package//\//-}.test.exe
	case $package in
	test/*) (cd test && go test -c -vet=off -ldflags=-s -o "$out" "./${package#test/}") ;;
	*) go test -c -vet=off -ldflags=-s -o "$out" "./$package" ;;
	esac
done < <(echo bench test/bench && grep -v '^#' test/windows/plan.txt | sort -u -k2,2)
cp test/windows/{run.ps1,plan.txt} LICENSE "$dir/"
