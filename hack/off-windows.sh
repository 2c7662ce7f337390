#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# hack/off-windows.sh [OPTIONS] PROGRAM.exe [ARG…] [-- CALLER.exe [ARG…]]
#
# runs a Windows program that calls CSI Proxy, such as the binary of a CSI driver, under Wine on Linux: against the named pipes of
# csi-proxy.exe, with an emulated node whose directories and links are the program's own C:\var. With a CALLER, which calls the program,
# the program is ended after it, and the exit code is the CALLER's; else it is the PROGRAM's. csi-sanity as CALLER is built for you; with
# -controller=disks or -controller=shares among its arguments, it brings the controller, for a plugin that serves the node alone.
#
#   -o DIR       what is left afterwards: journal, tree, logs, the node's files. It must be empty (default: a new directory)
#   -s SCENARIO  the node's profile or scenario file (default: the default node)
#   -f DIR       files for PROGRAM and CALLER, copied to Z:\work
#   -e NAME=VALUE  a variable for PROGRAM and CALLER; repeatable. Nothing else is inherited
#   -a FLAG      a flag of csi-proxy.exe, such as -a=-working-dir=C:\csi; repeatable
#   -t SECONDS   end all of it after that time and exit 124 (default: 300)
#   -b DIR       csi-proxy-emulated.exe, csi-proxyctl.exe and fake-links.dll are there, already built
#
# In PROGRAM and CALLER, which start in C:\, DIR is Z:\work. Needs root, as hack/wine.sh does.
set -euo pipefail

repository=$(cd "$(dirname "$0")/.." && pwd)

die() {
	echo "off-windows.sh: $*" >&2
	exit 2
}

out='' files='' binaries='' scenario='' seconds=300 settings=()
while getopts o:s:f:e:a:t:b:h option; do
	case $option in
	o) out=$OPTARG ;;
	s) scenario=$OPTARG ;;
	f) files=$OPTARG ;;
	e) settings+=("variable $OPTARG") ;;
	a) settings+=("agent ${OPTARG#=}") ;;
	t) seconds=$OPTARG ;;
	b) binaries=$(cd "$OPTARG" && pwd) ;;
	*)
		sed -n '4,/^set /s/^# \{0,1\}//p' "$0" >&2
		exit 2
		;;
	esac
done
shift $((OPTIND - 1))
[ $# -gt 0 ] || die 'which program?'

"$repository/hack/wine.sh" setup
programs=$(mktemp -d)
trap 'rm -rf "$programs"' EXIT
if [ -z "$binaries" ]; then
	binaries=$programs
	"$repository/hack/setup.sh" fakes
	(cd "$repository" && GOOS=windows GOARCH=amd64 CGO_ENABLED=0 hack/build.sh "$binaries")
	"$repository/test/windows/fakes/links/build.sh" "$binaries"
else
	cp "$binaries"/csi-proxy-emulated.exe "$binaries"/csi-proxyctl.exe "$binaries"/fake-links.dll "$programs/"
fi

# The words of the session: the program and the caller by their names in Z:\binaries.
words=() first=1
for word in "$@"; do
	if [ -n "$first" ]; then
		if [ "$word" = csi-sanity ]; then
			sanity=(go build) suite=github.com/kubernetes-csi/csi-test/v5/cmd/csi-sanity
			[[ " $* " != *' -controller='* ]] || sanity=(go test -c -vet=off) suite=.
			(cd "$repository/csisanity" && GOOS=windows GOARCH=amd64 CGO_ENABLED=0 "${sanity[@]}" -trimpath -o "$programs/csi-sanity.exe" "$suite")
			word=csi-sanity.exe
		else
			[ -f "$word" ] || die "no such program: $word"
			cp "$word" "$programs/"
			word=${word##*/}
		fi
		first=''
	elif [ "$word" = -- ]; then
		first=1
	fi
	words+=("$word")
done
[ -z "$first" ] || die 'which caller, after --?'

out=${out:-$(mktemp -d)}
mkdir -p "$out"
out=$(cd "$out" && pwd)
[ -z "$(ls -A "$out")" ] || die "$out is not empty"
[ -z "$files" ] || cp -r "$files/." "$out/"
if [ -f "$scenario" ]; then
	cp "$scenario" "$out/scenario.yaml"
	scenario='Z:\work\scenario.yaml'
fi
[ -z "$scenario" ] || settings+=("agent -scenario=$scenario")
[ ${#settings[@]} -eq 0 ] || printf '%s\n' "${settings[@]}" >"$out/settings"

code=0
"$repository/hack/wine.sh" session -t "$seconds" -C "$out" -b "$programs" "$repository/hack/off-windows-session.sh" "${words[@]}" || code=$?
echo "off-windows.sh: exit code $code; the journal, the logs and the node's files are in $out" >&2
exit "$code"
