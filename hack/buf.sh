#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs buf with the arguments, or without any prints its path, in the version of tools/buf/go.mod: one that is installed,
# or npm's, which is a binary, or without npm one that Go compiles, which takes minutes.
set -euo pipefail
module=$(cd "$(dirname "$0")/../tools/buf" && pwd)
export GOWORK=off GOFLAGS=-trimpath
version=$(go -C "$module" list -m -f '{{.Version}}' github.com/bufbuild/buf)
is() { [[ v$("$1" --version 2>/dev/null) == "$version" ]]; }
cache=${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/csi-proxy/buf-$version
npms=$cache/node_modules/.bin/buf
if ! is buf && ! is "$npms" && command -v npm >/dev/null; then
	timeout 120 npm install --prefix "$cache" --no-save --ignore-scripts --no-audit --no-fund "@bufbuild/buf@${version#v}" >&2 ||
		echo "buf.sh: npm has no buf here; Go compiles it" >&2
fi
if is buf; then
	buf=$(command -v buf)
elif is "$npms"; then
	buf=$npms
else
	buf=$(go -C "$module" tool -n buf)
fi
if [ $# -eq 0 ]; then
	echo "$buf"
else
	exec "$buf" "$@"
fi
