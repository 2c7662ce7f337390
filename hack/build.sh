#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# hack/build.sh DIR [VERSION [COMMAND…]] builds csi-proxy, csi-proxy-emulated and csi-proxyctl, or the COMMANDs, into DIR, for
# GOOS and GOARCH. Every build goes through it: `make build`, `make cross`, the release and the images. With a VERSION the
# commands print that version, Windows shows it among a file's properties, and the files depend only on the sources, VERSION
# and Go's own version; otherwise Go takes the version from git, and the commands are compiled in the workspace, as the tests are.
set -euo pipefail
mkdir -p "${1:?the directory for the commands}"
dir=$(cd "$1" && pwd) version=${2:-}
commands=("${@:3}")
[[ ${#commands[@]} -gt 0 ]] || commands=(csi-proxy csi-proxy-emulated csi-proxyctl)
cd "$(dirname "$0")/.."
export GOFLAGS='' GOWORK='' CGO_ENABLED=0 GOAMD64='' GOARM64=''

flags=(-trimpath -tags=grpcnotrace,nethttpomithttp2 -ldflags=-s)
# A build that was killed leaves its resources, which the linker would take.
[[ $(go env GOOS) != windows ]] || rm -f cmd/*/version_windows_*.syso
if [[ -z $version ]]; then
	go build "${flags[@]}" -o "$dir/" "${commands[@]/#/./cmd/}"
	exit
fi
export GOWORK=off
flags+=(-buildvcs=false "-ldflags=-s -X github.com/kubernetes-csi/csi-proxy/internal/agent/buildversion.linked=$version")

# resource COMMAND writes the version resource that the linker finds in the command's folder.
resource() {
	local arch arm='' description file tool major minor patch
	arch=$(go env GOARCH)
	[[ $arch != arm64 ]] || arm=-arm
	tool=$(env -u GOOS -u GOARCH GOFLAGS=-trimpath go tool -modfile=tools/goversioninfo/go.mod -n goversioninfo)
	IFS=.-+ read -r major minor patch _ <<<"${version#v}"
	case $1 in
	csi-proxy) description='CSI Proxy: storage operations of this node for CSI drivers' ;;
	csi-proxy-emulated) description='CSI Proxy on an emulated node' ;;
	csi-proxyctl) description='CSI Proxy command line' ;;
	esac
	file=cmd/$1/version_windows_$arch.syso
	trap 'rm -f cmd/*/version_windows_*.syso' EXIT
	# 040904B0: English, Unicode. https://learn.microsoft.com/windows/win32/menurc/versioninfo-resource
	printf '{"VarFileInfo":{"Translation":{"LangID":"0409","CharsetID":"04B0"}}}' |
		"$tool" -64 $arm -o "$file" -product-name 'CSI Proxy' -description "$description" -original-name "$1.exe" \
			-copyright 'Licensed under the Apache License, Version 2.0' -file-version "${version#v}" -product-version "${version#v}" \
			-ver-major "$major" -ver-minor "$minor" -ver-patch "$patch" -ver-build 0 \
			-product-ver-major "$major" -product-ver-minor "$minor" -product-ver-patch "$patch" -product-ver-build 0 -
}
if [[ $version =~ ^v[0-9]+\.[0-9]+\.[0-9]+ && $(go env GOOS) == windows ]]; then
	for command in "${commands[@]}"; do resource "$command"; done
fi
for command in "${commands[@]}"; do # csi-proxyctl is a module of its own
	go -C "cmd/$command" build "${flags[@]}" -o "$dir/" .
done
