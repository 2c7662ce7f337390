#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# hack/reproduce.sh builds the Windows commands twice, the second time from a copy of the files in another directory and
# with an empty compiler cache, and compares the bytes.
set -euo pipefail
cd "$(dirname "$0")/.."

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkdir -p "$dir/another/place"
# Deleted files that git still lists are skipped.
git ls-files -z --cached --others --exclude-standard | while IFS= read -r -d '' file; do
	[[ ! -e $file ]] || printf '%s\0' "$file"
done | tar --create --null --files-from=- | tar --extract --directory="$dir/another/place"

export GOOS=windows GOARCH=amd64
hack/build.sh "$dir/first" v0.0.0-reproducible
GOCACHE=$dir/cache "$dir/another/place/hack/build.sh" "$dir/second" v0.0.0-reproducible
diff --recursive "$dir/first" "$dir/second"
echo "Two builds in different places gave the same bytes:"
cd "$dir/first" && sha256sum -- *
