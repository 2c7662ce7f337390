#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# hack/mutants.sh [PACKAGE…] changes one operator at a time in packages below internal/agent, runs the package's own tests, and
# prints how many changes they noticed and where they did not: in Markdown, and into the workflow's summary. A package
# that does not exist is left out. WORKERS (1) is how many tests run at once, and FLAGS are gremlins' own.
set -euo pipefail
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- node winfs operation policy winpath win32

gremlins=$(GOWORK=off go tool -modfile=tools/gremlins/go.mod -n gremlins)
export GOWORK=off GOFLAGS=-trimpath
for package in "$@"; do
	[ -d "internal/agent/$package" ] || continue
	printf '## Mutants of internal/agent/%s\n\n```\n' "$package"
	# shellcheck disable=SC2086 # a list of flags
	"$gremlins" unleash --workers "${WORKERS:-1}" --timeout-coefficient 10 --output-statuses lt ${FLAGS:-} "./internal/agent/$package"
	printf '```\n'
done | tee -a "${GITHUB_STEP_SUMMARY:-/dev/null}"
