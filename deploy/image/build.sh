#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the agent's Windows image.
#
#   deploy/image/build.sh files             only makes its files, in bin/image
#   deploy/image/build.sh push REPOSITORY   builds and pushes REPOSITORY:VERSION for windows/amd64; needs docker buildx
#
# VERSION (git describe), ARCHES (amd64 arm64: which binaries are made), PLATFORMS (windows/amd64: which images) and BASE
# (the Dockerfile's) can be set in the environment, and METADATA, a file for what docker says of the pushed image. The same commit gives the same files, and with the same base the same
# image: times are the commit's.
set -euo pipefail
cd "$(dirname "$0")/../.."

out=bin/image
version=${VERSION:-$(git describe --tags --always --dirty)}
arches=${ARCHES:-amd64 arm64}
platforms=${PLATFORMS:-windows/amd64}
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH

usage() {
	sed -n 's/^# \{0,1\}//; 4,6p' "$0" >&2
	exit 2
}

files() {
	rm -rf "$out"
	for arch in $arches; do
		GOOS=windows GOARCH=$arch hack/build.sh "$out/$arch" "$version"
	done
	cp LICENSE deploy/windows/install.ps1 deploy/windows/uninstall.ps1 "$out/"
	find "$out" -exec touch --date="@$SOURCE_DATE_EPOCH" {} +
	(cd "$out" && find . -type f ! -name SHA256SUMS | sort | xargs sha256sum >SHA256SUMS)
	cat "$out/SHA256SUMS"
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
	# Docker's own builder on Linux does not export images for Windows; one in a container does.
	builder=csi-proxy-image-$$
	trap 'docker buildx rm "$builder" >/dev/null 2>&1 || true' EXIT
	docker buildx create --name "$builder" --driver docker-container --platform "$platforms" >/dev/null
	# No attestations inside: they turn the image into an index with an entry that is not for Windows, on which the
	# containerd of older nodes fails. The release has them as files.
	docker buildx build --builder "$builder" --platform "$platforms" --file deploy/image/Dockerfile \
		${BASE:+--build-arg "BASE=$BASE"} --build-arg "VERSION=$version" --build-arg "REVISION=$(git rev-parse HEAD)" \
		--provenance=false --sbom=false --tag "$2:$version" ${METADATA:+--metadata-file "$METADATA"} \
		--output type=registry,rewrite-timestamp=true "$out"
	;;
*) usage ;;
esac
