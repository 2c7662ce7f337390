#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# hack/wine.sh runs Windows programs under Wine, in a Debian tree of its own:
#
#   hack/wine.sh setup                            make the tree, once; later calls return at once
#   hack/wine.sh run [OPTIONS] PROGRAM.exe ARGS…  run one program; the exit code is the program's
#   hack/wine.sh session [OPTIONS] SCRIPT ARGS…   run a Bash script in the tree, which starts programs with wine
#     -C DIR         DIR becomes the program's working directory Z:\work, writable (default: an empty one)
#     -d DIR         a directory in that DIR is the working directory instead
#     -b DIR         DIR's files are in Z:\binaries, for the program to start
#     -e NAME=VALUE  a variable for the program; repeatable. Nothing else is inherited
#     -t SECONDS     end the program after that time and exit 124 (default: 300)
#
# The tree is a debootstrap of a Debian release whose Wine runs what current Go compiles. It lives outside the
# repository: WINE_TREE overrides the place. The mirror is the one that this machine's apt uses, or WINE_MIRROR.
# All need root: debootstrap, chroot, mounts and a network namespace, whose loopback device iproute2's ip brings up.
#
# Either sees the tree through an overlay, in mount, process and network namespaces of its own: each starts from the
# same fresh Wine prefix, and several may run at once, on the same ports, which nothing outside reaches. When the
# namespace's first process ends, the kernel ends all its others and drops the mounts and all written files, whatever
# the program did. /dev holds no block device, so a program that writes to \\.\PhysicalDrive0 cannot reach the
# machine's disks.
set -euo pipefail

release=trixie
format=1 # of the tree; raise it when setup changes
tree=${WINE_TREE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/csi-proxy/wine-$release-$format}
marker=csi-proxy-wine-complete # present once setup is complete

die() {
	echo "wine.sh: $*" >&2
	exit 2
}

usage() {
	sed -n 's/^#   \(hack.*\)/\1/p; s/^#     \(-.*\)/  \1/p' "$0" >&2
	exit 2
}

need_root() {
	[ "$(id -u)" -eq 0 ] || die "$1 needs root, for chroot and mounts: run it with sudo"
}

# mirror prints the first Debian archive that apt is configured with, in either of its file formats.
mirror() {
	local file
	for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources; do
		[ ! -f "$file" ] || grep -v '^[[:space:]]*#' "$file" || true
	done | tr -s '[:space:]' '\n' | sed -n -E '\#^[a-z+]+://.*/debian/?$#p' | sed 1q
}

# contain [OPTION…] COMMAND… runs a command as the first process of its own mount and process namespaces, and of those
# that unshare's options add, and returns its exit code. However it ends, or if a signal ends this script, the kernel
# ends all that it started and drops its mounts.
contain() {
	local namespace code=0
	setpriv --pdeathsig KILL unshare --mount --pid --ipc --fork --kill-child=KILL "$@" <&0 &
	namespace=$!
	trap 'kill -KILL "$namespace" 2>/dev/null; wait "$namespace" 2>/dev/null || true; exit 130' HUP INT TERM
	wait "$namespace" || code=$?
	trap - HUP INT TERM
	return "$code"
}

# isolate ROOT MOUNTPOINT PROGRAM WORK BIN COMMAND… runs a command contained and chrooted, with /proc, a harmless /dev and an
# empty /tmp, and ends wineserver after it. With a MOUNTPOINT, what is written goes to an overlay there and vanishes;
# PROGRAM and, unless they are empty, WORK and BIN are then bound in, at /program, /work and /binaries.
isolate() {
	# shellcheck disable=SC2016 # the inner shell expands these
	contain --net /bin/sh -euc '
		ip link set lo up
		root=$1 mountpoint=$2 program=$3 work=$4 bin=$5
		shift 5
		if [ -n "$mountpoint" ]; then
			mount -t tmpfs -o mode=755 run "$mountpoint"
			mkdir "$mountpoint/upper" "$mountpoint/scratch" "$mountpoint/root"
			mount -t overlay -o "lowerdir=$root,upperdir=$mountpoint/upper,workdir=$mountpoint/scratch" run "$mountpoint/root"
			root=$mountpoint/root
			mkdir "$root/program" "$root/work" "$root/binaries"
			: >"$root/program/${program##*/}"
			mount --bind "$program" "$root/program/${program##*/}"
			[ -z "$work" ] || mount --bind "$work" "$root/work"
			[ -z "$bin" ] || mount --bind "$bin" "$root/binaries"
		fi
		mount -t proc proc "$root/proc"
		mount -t tmpfs -o mode=1777 tmp "$root/tmp"
		mount -t tmpfs -o mode=755 dev "$root/dev"
		for node in null zero full random urandom tty; do
			: >"$root/dev/$node"
			mount --bind "/dev/$node" "$root/dev/$node"
		done
		mkdir -m 1777 "$root/dev/shm"
		ln -s /proc/self/fd "$root/dev/fd"
		code=0
		chroot "$root" /usr/bin/env -i PATH=/usr/lib/wine:/usr/bin:/bin HOME=/root LANG=C.UTF-8 \
			XDG_RUNTIME_DIR=/tmp WINEDEBUG=-all "$@" ||
			code=$?
		chroot "$root" /usr/bin/env -i HOME=/root XDG_RUNTIME_DIR=/tmp timeout --signal=KILL 20 wineserver -k >/dev/null 2>&1 || true
		exit "$code"
	' sh "$@"
}

# clean_up removes everything that the command made outside the tree.
clean_up() {
	[ -z "${unfinished:-}" ] || rm -rf --one-file-system "$unfinished"
	[ -z "${mountpoint:-}" ] || rmdir "$mountpoint"
	unfinished='' mountpoint=''
}

setup() {
	[ ! -e "$tree/$marker" ] || exit 0
	need_root setup
	mkdir -p "$(dirname "$tree")"
	exec 9>"$tree.lock"
	flock 9 # two set-ups at once: the second finds the first one's tree
	[ ! -e "$tree/$marker" ] || exit 0

	if ! command -v debootstrap >/dev/null || [ ! -e /usr/share/keyrings/debian-archive-keyring.gpg ]; then
		command -v apt-get >/dev/null || die 'setup needs debootstrap and the Debian archive keyring'
		apt-get update >&2
		apt-get -o DPkg::Lock::Timeout=300 install -y --no-install-recommends debootstrap debian-archive-keyring >&2
	fi
	from=${WINE_MIRROR:-$(mirror)}
	[ -n "$from" ] || die 'apt has no Debian mirror configured here: name one in WINE_MIRROR'

	rm -rf --one-file-system "$tree" "$tree".new.*
	unfinished=$(mktemp -d "$tree.new.XXXXXX")
	trap clean_up EXIT
	echo "wine.sh: making $tree, which takes a minute or two" >&2
	# Contained, because debootstrap mounts /proc and /sys into the tree and leaves them there when it is killed.
	contain --mount-proc debootstrap --variant=minbase --include=wine,wine64 \
		--keyring=/usr/share/keyrings/debian-archive-keyring.gpg "$release" "$unfinished" "$from" \
		</dev/null >"$tree.log" 2>&1 || die "debootstrap failed: see $tree.log"
	rm -rf "$unfinished"/var/cache/apt/archives/*.deb "$unfinished"/var/lib/apt/lists/*
	isolate "$unfinished" '' '' '' '' timeout 300 wineboot -i >>"$tree.log" 2>&1 || die "wineboot failed: see $tree.log"
	: >"$unfinished/$marker"
	mv "$unfinished" "$tree"
	unfinished=''
}

# run COMMAND OPTIONS… is the command run or session.
run() {
	local command=$1 start
	shift
	need_root "$command"
	case $command in
	run) start=(wine) ;;
	session) start=(bash) ;;
	esac
	local work='' below=. bin='' seconds=300 variables=() option program
	while getopts b:C:d:e:t: option; do
		case $option in
		b) bin=$(cd "$OPTARG" && pwd) ;;
		C) work=$(cd "$OPTARG" && pwd) ;;
		d) below=$OPTARG ;;
		e)
			[[ $OPTARG =~ ^[A-Za-z_][A-Za-z0-9_]*= ]] || die "-e takes NAME=VALUE, not $OPTARG"
			variables+=("$OPTARG")
			;;
		t)
			[[ $OPTARG =~ ^[1-9][0-9]*$ ]] || die "-t takes a number of seconds, not $OPTARG"
			seconds=$OPTARG
			;;
		*) usage ;;
		esac
	done
	shift $((OPTIND - 1))
	[ $# -ge 1 ] || usage
	[ -f "$1" ] || die "no such program: $1"
	[ -e "$tree/$marker" ] || die 'there is no Wine tree yet: run hack/wine.sh setup'
	program=$(realpath "$1")
	shift

	trap clean_up EXIT
	mountpoint=$(mktemp -d)
	isolate "$tree" "$mountpoint" "$program" "$work" "$bin" "${variables[@]}" \
		timeout --kill-after=5 "$seconds" sh -c 'cd "/work/$1" && shift && exec "$@"' sh "$below" "${start[@]}" "/program/${program##*/}" "$@"
}

command=${1:-}
[ $# -eq 0 ] || shift
case $command in
setup) setup "$@" ;;
run | session) run "$command" "$@" ;;
*) usage ;;
esac
