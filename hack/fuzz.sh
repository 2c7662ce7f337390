#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs every fuzz function of the repository for FUZZTIME (5s) each.
set -euo pipefail
cd "$(dirname "$0")/.."

log=$(mktemp)
trap 'rm -f "$log"' EXIT

# fuzz FOLDER FUNCTION. Go's fuzzing sometimes reports its own time limit as a failure, with "context deadline exceeded"
# and no input; a failure that was found always has its input written.
fuzz() {
	echo "fuzz $1 $2"
	if (cd "$1" && go test -run '^$' -fuzz "^$2\$" -fuzztime "${FUZZTIME:-5s}" -fuzzminimizetime 10x .) >"$log" 2>&1 </dev/null; then
		tail -n 1 "$log"
		return
	fi
	cat "$log"
	if grep -q '^    context deadline exceeded$' "$log" && ! grep -qE 'Failing input written|panic:|build failed' "$log"; then
		echo "that was the time limit, no input failed"
		return
	fi
	return 1
}

while read -r file; do
	while read -r name; do
		fuzz "$(dirname "$file")" "$name"
	done < <(grep -oE '^func Fuzz[A-Za-z0-9_]+' "$file" | sed 's/^func //')
done < <(grep -rlE --include='*_test.go' '^func Fuzz' . | sort)
