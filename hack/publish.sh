#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# hack/publish.sh VERSION REPOSITORY publishes the result of `make release VERSION=VERSION`: the files of dist/ as a release on
# GitHub, a draft until a person has looked at it, the Windows image as REPOSITORY:VERSION, the image of the agent on an
# emulated node as REPOSITORY/emulated:VERSION, and the chart as REPOSITORY/charts/csi-proxy. The release workflow runs it
# and attests what it pushed, whose digests it takes from GITHUB_OUTPUT: image, emulated and chart. It needs gh, docker
# buildx, helm's module, and GH_TOKEN with the rights for all. A second run replaces the draft; once the release is
# published, it changes nothing.
set -euo pipefail
cd "$(dirname "$0")/.."

version=${1:?the version, vX.Y.Z}
repository=${2:?the image, without a tag}
[[ $version =~ ^v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$ ]] || {
	echo "publish.sh: $version is not a version of the form vX.Y.Z" >&2
	exit 2
}
: "${GH_TOKEN:?a token that may write releases and packages}"
(cd dist && sha256sum --quiet --check SHA256SUMS)
for file in "csi-proxy-$version-windows-amd64.zip" "csi-proxy-$version-windows-arm64.zip"; do
	[[ -f dist/$file ]] || {
		echo "publish.sh: dist/ has no $file: run make release VERSION=$version" >&2
		exit 1
	}
done

# The notes are the version's section of the changelog; a release candidate has those of what is not released.
section=${version#v}
[[ $version != *-* ]] || section=Unreleased
notes=$(awk -v want="## [$section]" 'index($0, "## ") == 1 { inside = index($0, want) == 1; next } inside' CHANGELOG.md)
[[ -n ${notes//[[:space:]]/} ]] || {
	echo "publish.sh: CHANGELOG.md has nothing under \"## [$section]\": write there what changed" >&2
	exit 1
}

# By number, since a tag can have drafts beside a published release, and gh release delete takes the tag.
existing=$(gh api --paginate 'repos/{owner}/{repo}/releases' \
	--jq '.[] | select(.tag_name == "'"$version"'") | "\(.id) \(.draft)"')
if grep -q ' false$' <<<"$existing"; then
	echo "publish.sh: $version is published; a release does not change" >&2
	exit 1
fi

registry=${repository%%/*}
printf '%s' "$GH_TOKEN" | docker login --username "${GITHUB_ACTOR:-publish}" --password-stdin "$registry"
trap 'docker logout "$registry" >/dev/null || true' EXIT
repository=$(tr '[:upper:]' '[:lower:]' <<<"$repository")
mkdir -p bin
# pushed NAME KEY FILE gives the workflow the digest that a file has on the line of a key.
pushed() {
	local digest
	digest=$(grep -F "$2" "$3" | grep -oE 'sha256:[0-9a-f]{64}')
	printf '%s=%s\n' "$1" "$digest" >>"${GITHUB_OUTPUT:-/dev/null}"
}
VERSION=$version METADATA=bin/image.json deploy/image/build.sh push "$repository"
pushed image '"containerimage.digest"' bin/image.json
VERSION=$version METADATA=bin/emulated.json deploy/emulated/build.sh push "$repository/emulated"
pushed emulated '"containerimage.digest"' bin/emulated.json
helm=$(GOWORK=off GOFLAGS=-trimpath go tool -modfile=tools/helm/go.mod -n helm)
printf '%s' "$GH_TOKEN" | "$helm" registry login --username "${GITHUB_ACTOR:-publish}" --password-stdin "$registry"
"$helm" push "dist/csi-proxy-chart-${version#v}.tgz" "oci://$repository/charts" 2>&1 | tee bin/chart.txt
pushed chart Digest: bin/chart.txt
"$helm" registry logout "$registry" >/dev/null

while read -r id draft; do
	[[ $draft == true ]] || continue
	gh api --method DELETE "repos/{owner}/{repo}/releases/$id" </dev/null
done <<<"$existing"
flags=(--draft --verify-tag --title "$version" --notes "$notes")
[[ $version != *-* ]] || flags+=(--prerelease)
gh release create "$version" "${flags[@]}" dist/*
