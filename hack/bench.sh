#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# hack/bench.sh [PAGE] runs the benchmarks of test/bench ROUNDS (8) times, each for TIME (200ms), prints what benchstat
# makes of them, and puts that into PAGE. The rounds are separate runs, so that a slow minute of the machine affects
# all benchmarks.
set -euo pipefail
cd "$(dirname "$0")/.."
page=${1:+$(realpath "$1")}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
benchstat=$(GOWORK=off go tool -modfile=tools/benchstat/go.mod -n benchstat)
go test -c -trimpath -o "$work/bench.test" ./test/bench
for ((i = 0; i < ${ROUNDS:-8}; i++)); do
	(cd test/bench && "$work/bench.test" -test.run='^$' -test.bench=. -test.benchtime="${TIME:-200ms}") | tee -a "$work/runs" >&2
done
# A line of Steps has each step's time and calls. The page has those of stage, the only ones that depend on the disks.
awk '/^BenchmarkSteps/ {
	split($1, name, "/")
	for (i = 3; i < NF; i += 2) {
		split($(i + 1), unit, "-")
		if (unit[1] == "stage")
			print name[1] "/" unit[1] "/" name[2] "/" name[3], $2, $i, unit[2] "/op"
	}
}' "$work/runs" >"$work/steps"
{
	echo "$(date -u +%F), $(go env GOVERSION), $(nproc) processors, ${ROUNDS:-8} rounds"
	"$benchstat" -filter '.name:Read' -col '/via@(echo agent)' "$work/runs"
	"$benchstat" -filter '-.name:(Read OR Steps)' "runs=$work/runs"
	"$benchstat" -col '/volumes@(1 32)' "$work/steps" | sed 's/ ± *[0-9]*%//g'
} | sed -e '/Read\//{/Read\/\(PathExists\|ListVolumesOnDisk\|GetVolumeStats\)/!d}' \
	-e '/^\(goos\|goarch\|pkg\|cpu\):/d' -e '/^geomean/d' -e '/^[¹²³⁴]/d' -e 's/ *[¹²³⁴]//g' -e 's/ *(p=[0-9.]* n=[0-9]*)//' >"$work/table"
cat "$work/table"
[ -z "$page" ] || sed -i -e '/^<!-- linux -->$/,/^<!-- end -->$/{//!d}' \
	-e "/^<!-- linux -->\$/r /dev/stdin" "$page" < <(echo '```'; cat "$work/table"; echo '```')
