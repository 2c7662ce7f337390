#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Judges the fake without the agent: check.c calls it under Wine by Microsoft's pages, and sgdisk judges the tables on the images.
set -euo pipefail
cd "$(dirname "$0")"
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
mkdir "$out/binaries" "$out/work"
../build.sh "$out/binaries"
../../links/build.sh "$out/binaries"
x86_64-w64-mingw32-gcc -std=gnu11 -O1 -Wall -Wextra -Werror -D_WIN32_WINNT=0x0602 -s -o "$out/binaries/check.exe" check.c
code=0
../../../../../hack/wine.sh session -C "$out/work" -b "$out/binaries" ./session.sh || code=$?
[ "$code" -eq 0 ] || cat "$out/work/calls.txt" "$out/work/violations.txt"
for disk in 0 1; do
	sgdisk -v "$out/work/disk-$disk.img" | grep -q '^No problems found' || { sgdisk -v "$out/work/disk-$disk.img"; code=1; }
	sgdisk -p "$out/work/disk-$disk.img"
done
exit "$code"
