#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the image of the agent on an emulated node.
#
#   deploy/emulated/build.sh files             only makes its files, in bin/emulated
#   deploy/emulated/build.sh push REPOSITORY   builds and pushes REPOSITORY:VERSION for all ARCHES; needs docker buildx
#
# VERSION (git describe), ARCHES (amd64 arm64) and METADATA, a file for what docker says of the pushed image, can be set in
# the environment. Times are the commit's.
set -euo pipefail
cd "$(dirname "$0")/../.."

out=bin/emulated
version=${VERSION:-$(git describe --tags --always --dirty)}
arches=${ARCHES:-amd64 arm64}
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH

usage() {
	sed -n 's/^# \{0,1\}//; 4,6p' "$0" >&2
	exit 2
}

files() {
	rm -rf "$out"
	mkdir -p "$out/empty"
	for arch in $arches; do
		GOOS=linux GOARCH=$arch hack/build.sh "$out/$arch" "$version"
	done
	cp LICENSE "$out/"
	find "$out" -exec touch --date="@$SOURCE_DATE_EPOCH" {} +
}

case "${1:-}" in
files)
	[[ $# -eq 1 ]] || usage
	files
	;;
push)
	[[ $# -eq 2 ]] || usage
	docker buildx version >/dev/null || {
		echo "docker buildx is needed to build the image; '$0 files' makes its files without it" >&2
		exit 1
	}
	files
	builder=csi-proxy-emulated-$$
	trap 'docker buildx rm "$builder" >/dev/null 2>&1 || true' EXIT
	docker buildx create --name "$builder" --driver docker-container >/dev/null
	# shellcheck disable=SC2086 # a list
	docker buildx build --builder "$builder" --platform "$(printf 'linux/%s,' $arches | sed 's/,$//')" \
		--file deploy/emulated/Dockerfile --build-arg "VERSION=$version" --build-arg "REVISION=$(git rev-parse HEAD)" \
		--provenance=false --sbom=false --tag "$2:$version" ${METADATA:+--metadata-file "$METADATA"} \
		--output type=registry,rewrite-timestamp=true "$out"
	;;
*) usage ;;
esac
