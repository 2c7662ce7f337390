#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# hack/memory-dir.sh prints the directory for the temporary files of tests, which make thousands of small files that nobody
# keeps: TMPDIR if that is set, else /dev/shm if it is memory, has room for Go's own as well, and runs programs, else /tmp.
set -euo pipefail
memory=/dev/shm
gib=$((1 << 30))

free_bytes() { df --output=avail -B1 "$memory" | tail -n 1; }
available_bytes() { awk '$1 == "MemAvailable:" {printf "%.0f\n", $2 * 1024}' /proc/meminfo; }
runs_programs() { # containers often mount it with noexec
	local program status=0
	program=$(mktemp "$memory/csi-XXXXXX") || return 1
	printf '#!/bin/sh\n' >"$program"
	chmod +x "$program"
	"$program" 2>/dev/null || status=1
	rm -f "$program"
	return $status
}

if [[ -n ${TMPDIR:-} ]]; then
	echo "$TMPDIR"
elif [[ $(stat -f -c %T "$memory" 2>/dev/null) == tmpfs ]] &&
	(($(free_bytes) >= 8 * gib && $(available_bytes) >= 12 * gib)) && runs_programs; then
	echo "$memory"
else
	echo /tmp
fi
