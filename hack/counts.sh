#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# hack/counts.sh reads what tests say, go test -v or -json, and prints of how many methods of the API they prove
# something: the counts of docs/architecture.md. It fails if a test failed, or if there is nothing to count. `make counts`
# has the tests that need nothing. Those of a Windows machine and of Wine:
#   hack/counts.sh <results/lives.json
#   V=1 GO_TEST_FLAGS=-test.v hack/test-wine.sh ./test/conformance ./test/operation | hack/counts.sh
set -euo pipefail

# What counts: a conformance test that passed, or a fact that a test logs, such as "proved: disk v1 Rescan".
tr -d '\r' | awk '
	/--- FAIL: / { print "counts.sh: " $0 >"/dev/stderr"; failed = 1 }
	match($0, /--- PASS: TestConformance\/[a-z]+_v[0-9a-z]+\/[A-Za-z0-9]+_(failure|hostile)/) {
		split(substr($0, RSTART, RLENGTH), part, "/")
		kind = part[3]
		sub(/.*_/, "", kind)
		sub(/_[a-z]+$/, "", part[3])
		sub(/_/, " ", part[2])
		seen[kind " " part[2] " " part[3]]
	}
	match($0, /: (relates|proved|ended|faked): [a-z]+ v[0-9a-z]+ [A-Za-z0-9]+/) {
		fact = substr($0, RSTART + 2, RLENGTH - 2)
		rest = substr($0, RSTART + RLENGTH)
		sub(/:/, "", fact)
		if (fact !~ /^ended / || rest ~ /^: OK/) seen[fact]
	}
	END {
		for (fact in seen) {
			split(fact, word, " ")
			method = word[2] " " word[3] " " word[4]
			count[word[1]]++
			if (word[1] ~ /^(failure|hostile)$/ && !(method in tested)) { tested[method]; methods++ }
			if (word[1] ~ /^(ended|faked)$/ && !(method in called)) { called[method]; calls++ }
			if (word[1] == "faked" && !(("ended " method) in seen)) fakes++
		}
		if (count["relates"]) print "pure: " count["relates"] " methods are compared with the newest one of their group"
		if (methods) print "conformance: " methods " methods; failures " count["failure"] + 0 \
			", hostile requests " count["hostile"] + 0
		if (count["proved"]) print "lives: " count["proved"] " methods"
		if (calls) print "this kernel: " calls " methods, " fakes + 0 " with a fake"
		exit failed || !(count["relates"] + methods + count["proved"] + calls)
	}'
