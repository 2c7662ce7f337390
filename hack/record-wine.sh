#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# hack/record-wine.sh records Wine's answers to kernel calls in docs/evidence/recordings/wine-VERSION.jsonl.gz: those of the
# exercise of test/replay, and those that every method of the API makes on the machine itself. It needs root, for Wine.
# Afterwards run go test ./test/replay, which compares them with the emulated node; with -update it writes the page, too.
set -euo pipefail
cd "$(dirname "$0")/.."

recording=$(mktemp)
trap 'rm -f "$recording" test/replay/recording.jsonl test/operation/recording.jsonl' EXIT
export CSI_PROXY_TEST_AGENT=in-process CSI_PROXY_RECORDING=recording.jsonl # in the package's folder
for package in test/replay test/operation; do
	rm -f "$package/recording.jsonl"
	GO_TEST_FLAGS='-test.run=^(TestExercise|TestEveryCallOnThisMachine)$' hack/test-wine.sh "./$package"
	cat "$package/recording.jsonl" >>"$recording"
done
version=$(sed -n 's/.*"wineVersion":"\([0-9.]*\)[^"]*".*/\1/p' "$recording" | head -n 1)
mkdir -p docs/evidence/recordings
gzip -9 --no-name <"$recording" >"docs/evidence/recordings/wine-$version.jsonl.gz"
ls -l docs/evidence/recordings
