#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# hack/drivers.sh [DRIVER[@VERSION]...] compiles published CSI drivers for Windows against this repository: those packages of each
# that import CSI Proxy's modules, at the newest version that the module proxy serves, with the replace lines that
# docs/driver-authors.md names and no other change. Without arguments, all drivers of the list.
# A driver that does not compile is compiled once more as it was published, so that its own faults are not taken for ours.
set -euo pipefail
repository=$(cd "$(dirname "$0")/.." && pwd)

# The name -> the module, and the version to ask for: tags of v2 and later without /v2 in the path are not served.
declare -A drivers=(
	[smb]=github.com/kubernetes-csi/csi-driver-smb@latest
	[azurefile]=sigs.k8s.io/azurefile-csi-driver@latest
	[azuredisk]=sigs.k8s.io/azuredisk-csi-driver@latest
	[ebs]=github.com/kubernetes-sigs/aws-ebs-csi-driver@latest
	[gcepd]=sigs.k8s.io/gcp-compute-persistent-disk-csi-driver@latest
	[local-static-provisioner]=sigs.k8s.io/sig-storage-local-static-provisioner@latest
	[trident]=github.com/netapp/trident@master
	[ecs]=github.com/aws/amazon-ecs-agent/ecs-agent/daemonimages/csidriver@master
	[vsphere]=sigs.k8s.io/vsphere-csi-driver/v3@latest
)

work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
export GOWORK=off GOFLAGS=-mod=mod GOOS=windows GOARCH=amd64 CGO_ENABLED=0 GOTOOLCHAIN=auto

# compile NAME compiles a driver in the current directory.
compile() {
	local packages
	mapfile -t packages < <(go list -e -f '{{$p := .ImportPath}}{{range .Imports}}{{$p}} {{.}}{{"\n"}}{{end}}' ./... | awk '$2 ~ "^github.com/kubernetes-csi/csi-proxy/" && !seen[$1]++ {print $1}')
	if [[ ${#packages[@]} -eq 0 ]]; then
		echo "no package imports CSI Proxy"
		return 1
	fi
	printf '%s\n' "${packages[@]}"
	go build "${packages[@]}"
}

failed=()
for name in "${@:-${!drivers[@]}}"; do
	driver=${name%%@*}
	module=${drivers[$driver]:?is not a driver of the list}
	[[ $name != *@* ]] || module=${module%@*}@${name#*@}
	read -r version source < <(cd "$work" && GOFLAGS='' go mod download -json "$module" | awk -F'"' '/"Version":/ {v = $4} /"Dir":/ {d = $4} END {print v, d}')
	if [[ -z $source ]]; then
		echo "=== $driver: the module proxy does not serve $module"
		failed+=("$driver")
		continue
	fi
	echo "=== $driver $version"
	cp -r "$source" "$work/$driver"
	chmod -R u+w "$work/$driver"
	cp -r "$work/$driver" "$work/$driver-published"
	(
		cd "$work/$driver"
		for part in "" /client /v2; do
			# The v2 module needs the other two.
			if grep -q "kubernetes-csi/csi-proxy$part " go.mod || grep -q kubernetes-csi/csi-proxy/v2 go.mod; then
				go mod edit -replace="github.com/kubernetes-csi/csi-proxy$part=$repository$part"
				echo "replace github.com/kubernetes-csi/csi-proxy$part"
			fi
		done
		compile
	) || {
		echo "=== $driver $version does not compile; as it was published:"
		(cd "$work/$driver-published" && compile) || echo "=== $driver does not compile as published either"
		failed+=("$driver")
	}
	rm -rf "${work:?}/$driver" "$work/$driver-published"
done
if [[ ${#failed[@]} -gt 0 ]]; then
	echo "Not compiled: ${failed[*]}" >&2
	exit 1
fi
