#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The part of hack/off-windows.sh inside the Wine tree: off-windows-session.sh PROGRAM.exe [ARG…] [-- CALLER.exe [ARG…]]
set -euo pipefail

c=~/.wine/drive_c

# What Wine lacks of links, for programs with the variable CSI_PROXY_NODE_FILES: see test/windows/fakes/links.
cp /binaries/fake-links.dll "$c/windows/system32/bcryptprimitives.dll"
export WINEDLLOVERRIDES='bcryptprimitives=n'

agent=() variables=()
if [ -e settings ]; then
	while read -r kind value; do
		case $kind in
		agent) agent+=("$value") ;;
		variable) variables+=("$value") ;;
		esac
	done <settings
	rm settings
fi

exec {log}< <(exec wine 'Z:\binaries\csi-proxy-emulated.exe' '-state-dir=Z:\work\node' -v=2 "${agent[@]}" 2>csi-proxy.log </dev/null)
if ! read -r ready _ <&"$log" || [ "$ready" != ready ]; then
	echo 'the agent did not start:' >&2
	cat csi-proxy.log >&2
	exit 1
fi

# merge FROM TO links what the directory FROM has into TO. In a directory that both have, whatever the case, it goes on.
merge() {
	local directory there
	for directory in "$1"/*/; do
		[ -d "$directory" ] || continue
		directory=${directory%/}
		there=$(find "$2/" -mindepth 1 -maxdepth 1 -iname "${directory##*/}" -print -quit)
		if [ -z "$there" ]; then
			ln -s "$directory" "$2/${directory##*/}"
		elif [ "${there,,}" != "${c,,}/windows" ]; then
			merge "$directory" "$there"
		fi
	done
}

# The directories of the node's drive C become the program's, beside those that Wine has. The agent's further working
# directories are made: on a node they are there before a driver is.
for files in node/disks/*.disk/volumes/*; do
	[ -d "$files/Windows" ] || continue
	for flag in "${agent[@]}"; do
		if [[ $flag =~ ^--?working-dir=[Cc]:(.*) ]]; then mkdir -p "$files${BASH_REMATCH[1]//\\//}"; fi
	done
	merge "$PWD/$files" "$c"
done

# start PROGRAM ARG… runs one of the programs, on drive C as a service: paths without a drive are there.
start() (
	cd "$c"
	exec env CSI_PROXY_NODE_FILES='\??\Z:\work\node' "${variables[@]}" wine "Z:\\binaries\\$1" "${@:2}"
)

program=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do
	program+=("$1")
	shift
done
code=0
if [ $# -eq 0 ]; then
	start "${program[@]}" || code=$?
else
	shift
	start "${program[@]}" >program.log 2>&1 </dev/null &
	start "$@" || code=$?
fi

wine 'Z:\binaries\csi-proxyctl.exe' journal >journal </dev/null || true
wine 'Z:\binaries\csi-proxyctl.exe' tree >tree </dev/null || true
exit "$code"
