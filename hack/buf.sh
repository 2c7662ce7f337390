#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Prints the path of buf, in the version of tools/buf/go.mod: of one that is installed, or npm's, which is a binary, or
# without npm one that Go compiles, which takes minutes.
set -euo pipefail
cd "$(dirname "$0")/../tools/buf"
export GOWORK=off GOFLAGS=''
version=$(go list -m -f '{{.Version}}' github.com/bufbuild/buf)
is() { [[ v$("$1" --version 2>/dev/null) == "$version" ]]; }
cache=${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/csi-proxy/buf-$version
npms=$cache/node_modules/.bin/buf
if is buf; then
	command -v buf
	exit
fi
if ! is "$npms" && command -v npm >/dev/null; then
	timeout 120 npm install --prefix "$cache" --no-save --ignore-scripts --no-audit --no-fund "@bufbuild/buf@${version#v}" >&2 ||
		echo "buf.sh: npm has no buf here; Go compiles it" >&2
fi
if is "$npms"; then
	echo "$npms"
else
	go tool -n buf
fi
