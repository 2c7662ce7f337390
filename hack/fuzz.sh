#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs every fuzz function of the repository, or of the given folders, for FUZZTIME (5s) each. Inputs that
# once broke something are in the testdata/fuzz of their package, where `go test` runs them; other interesting inputs
# stay in Go's cache, and the next run begins with them.
set -euo pipefail
cd "$(dirname "$0")/.."

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
log=$work/log

# inputs lists the inputs that a package keeps.
inputs() { find testdata/fuzz -type f 2>/dev/null | sort || true; }

# fuzz FUNCTION FOLDER runs a fuzz function of the package in the folder, which must be the current directory. Go's fuzzing
# sometimes reports the end of its time as a failure, "context deadline exceeded" without an input. A real failure has an input.
fuzz() {
	local before status=0
	before=$(inputs)
	"$work/test" -test.run '^$' -test.fuzz "^$1\$" -test.fuzztime "${FUZZTIME:-5s}" -test.fuzzminimizetime 10x \
		-test.fuzzcachedir "$cache" >"$log" 2>&1 </dev/null || status=$?
	if [ "$(inputs)" != "$before" ]; then
		cat "$log"
		echo "fuzz: $2 $1 fails; its input is below $2/testdata/fuzz: keep it with the fix" >&2
		return 1
	fi
	if [ "$status" != 0 ] && ! { grep -q '^    context deadline exceeded$' "$log" && ! grep -qE 'Failing input written|panic:|fatal error:' "$log"; }; then
		cat "$log"
		echo "fuzz: $2 $1 fails" >&2
		return 1
	fi
	printf '%s %s: %s\n' "$2" "$1" "$(grep -oE 'execs: [0-9]+ .*' "$log" | tail -n 1)"
}

# package FOLDER builds a package's tests for fuzzing, once, and runs its fuzz functions.
package() {
	local folder=$1 name
	(
		cd "$folder"
		cache=$(go env GOCACHE)/fuzz/$(go list .)
		mkdir -p "$cache"
		go test -c -fuzz . -o "$work/test" . || exit 1
		while read -r name; do
			fuzz "$name" "$folder" || exit 1
		done < <(cat ./*_test.go | grep -oE '^func Fuzz[A-Za-z0-9_]+' | sed 's/^func //' | sort)
	)
}

folders() { grep -rlE --include='*_test.go' '^func Fuzz' . | xargs -n 1 dirname | sort -u | sed 's|^\./||'; }

start=$SECONDS
for folder in ${*:-$(folders)}; do
	package "$folder"
done
printf 'fuzzed in %d s\n' $((SECONDS - start))
