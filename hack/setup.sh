#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs the Debian packages that a target needs and that are missing: setup.sh run|test|race|abi|fakes|clients|page|docs|zip.
# Without root or sudo it names the packages and exits with 1.
set -euo pipefail

# command -> Debian package
declare -A needed
case "${1:-}" in
run) ;;
test) needed=([sgdisk]=gdisk [file]=file [git]=git [mkntfs]=ntfs-3g [blkid]=util-linux) ;;
race) needed=([gcc]=gcc) ;;
abi) needed=([x86_64-w64-mingw32-gcc]=gcc-mingw-w64-x86-64 [clang]=clang [objcopy]=binutils) ;;
fakes) needed=([x86_64-w64-mingw32-gcc]=gcc-mingw-w64-x86-64 [sgdisk]=gdisk) ;;
clients) needed=([protoc]=protobuf-compiler) ;;
page) needed=([chromium]=chromium) ;;
docs) needed=([git]=git [curl]=curl [pkill]=procps) ;;
zip) needed=([zip]=zip [unzip]=unzip) ;;
*)
	echo "usage: $0 run|test|race|abi|fakes|clients|page|docs|zip" >&2
	exit 2
	;;
esac

if ! command -v go >/dev/null; then
	echo "Go is not installed; this project needs the version in go.mod ($(awk '$1 == "go" {print $2}' go.mod)) or newer." >&2
	exit 1
fi

packages=()
for command in "${!needed[@]}"; do
	command -v "$command" >/dev/null || packages+=("${needed[$command]}")
done
# The race detector links against the C library.
if [[ $1 == race && ! -e /usr/include/stdlib.h ]]; then packages+=(libc6-dev); fi
# Python modules are not commands.
if [[ $1 == clients ]] && ! /usr/bin/python3 -c 'import grpc, google.protobuf' 2>/dev/null; then
	packages+=(python3 python3-grpcio python3-protobuf)
fi
# The CSI specification imports protobuf's own files, which protoc's package lacks.
if [[ $1 == clients && ! -e /usr/include/google/protobuf/wrappers.proto ]]; then packages+=(libprotobuf-dev); fi
if [[ ${#packages[@]} -eq 0 ]]; then exit 0; fi

as_root=()
if [[ $(id -u) -ne 0 ]]; then
	if ! sudo -n true 2>/dev/null; then
		echo "These Debian packages are missing: ${packages[*]}" >&2
		echo "Install them (apt-get install ${packages[*]}) and run this again; the rest needs no root." >&2
		exit 1
	fi
	as_root=(sudo -n)
fi
echo "Installing Debian packages: ${packages[*]}"
export DEBIAN_FRONTEND=noninteractive
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" apt-get install -y -qq --no-install-recommends "${packages[@]}" >/dev/null
