#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# hack/promtool.sh ARGS… runs promtool: the one on PATH, or else the one in Debian's package prometheus.
#
# The package would install and start a server, so only that one file is taken from it, into a cache outside the
# repository; no root is needed. (The Go module of promtool brings the clients of a dozen clouds: two gigabytes.)
set -euo pipefail

if command -v promtool >/dev/null; then
	exec promtool "$@"
fi

cache=${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/csi-proxy
if [[ ! -x $cache/promtool ]]; then
	if ! command -v apt-get >/dev/null; then
		echo "promtool is not installed, and there is no apt-get to fetch it: install Prometheus, which includes it." >&2
		exit 2
	fi
	work=$(mktemp -d)
	trap 'rm -rf "$work"' EXIT
	(cd "$work" && apt-get download -qq -o APT::Sandbox::User=root prometheus >/dev/null) || {
		echo "Debian's package prometheus, which includes promtool, cannot be downloaded: run apt-get update, or install promtool." >&2
		exit 2
	}
	dpkg-deb -x "$work"/prometheus_*.deb "$work/tree"
	mkdir -p "$cache"
	mv "$work/tree/usr/bin/promtool" "$cache/promtool.$$" && mv "$cache/promtool.$$" "$cache/promtool"
	rm -rf "$work"
	trap - EXIT
fi
exec "$cache/promtool" "$@"
