#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs every fuzz function of the repository for FUZZTIME (5s) each.
set -euo pipefail
cd "$(dirname "$0")/.."

grep -rlE --include='*_test.go' '^func Fuzz' . | while read -r file; do
	grep -oE '^func Fuzz[A-Za-z0-9_]+' "$file" | sed 's/^func //' | while read -r name; do
		echo "fuzz $(dirname "$file") $name"
		(cd "$(dirname "$file")" && go test -run '^$' -fuzz "^$name\$" -fuzztime "${FUZZTIME:-5s}" -fuzzminimizetime 10x .) </dev/null
	done
done
