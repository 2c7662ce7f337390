#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes foreign.tar.gz: disks as the real tools leave them, sparse, and beside it tools.txt: which tool in which version
# made each, and what blkid takes it for. It needs root for loop devices, and Debian's packages of the tools:
#   xfsprogs btrfs-progs ntfs-3g dosfstools exfatprogs f2fs-tools jfsutils nilfs-tools udftools reiserfsprogs reiser4progs
#   cryptsetup-bin lvm2 bcache-tools gfs2-utils ocfs2-tools squashfs-tools erofs-utils genisoimage drbd-utils gdisk
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
mkdir images tree
echo content >tree/file
: >tools.txt

# disk NAME MIB VERSION-COMMAND COMMAND...: a disk that a command formats; %s in the command is its path.
disk() {
	local name=$1 size=$2 version=$3
	shift 3
	truncate -s "${size}M" "images/$name"
	"${@//%s/images/$name}" >log 2>&1 || { cat log >&2; echo "$name: $*" >&2; exit 1; }
	note "$name" "$version" "$*"
}

# loop is disk for tools that want a block device.
loop() {
	local name=$1 size=$2 version=$3 device
	shift 3
	truncate -s "${size}M" "images/$name"
	device=$(losetup -f --show "images/$name")
	"${@//%s/$device}" >log 2>&1 || { losetup -d "$device"; cat log >&2; echo "$name: $*" >&2; exit 1; }
	sync "$device"
	losetup -d "$device"
	note "$name" "$version" "$*"
}

# pack is disk for a file system that is packed from a tree, and is then padded to a disk's size.
pack() {
	local name=$1 size=$2 version=$3
	shift 3
	"${@//%s/images/$name}" >log 2>&1 || { cat log >&2; echo "$name: $*" >&2; exit 1; }
	truncate -s "${size}M" "images/$name"
	note "$name" "$version" "$*"
}

note() {
	local kind
	kind=$(blkid -p -o value -s TYPE "images/$1" || true)
	printf '%s\t%s\t%s\t%s\n' "$1" "${kind:-unknown}" "$(bash -c "$2" 2>&1 | grep -m1 '[0-9]\.[0-9]' || true)" "$3" >>tools.txt
}

disk ext2 64 'mke2fs -V' mke2fs -q -F -t ext2 %s
disk ext3 64 'mke2fs -V' mke2fs -q -F -t ext3 %s
disk ext4 64 'mke2fs -V' mke2fs -q -F -t ext4 %s
disk ext4-4k 192 'mke2fs -V' mke2fs -q -F -t ext4 -b 4096 %s
disk ext4-sparse2 256 'mke2fs -V' mke2fs -q -F -t ext4 -b 4096 -O sparse_super2 %s
disk xfs 320 'mkfs.xfs -V' mkfs.xfs -q -f %s
disk btrfs 128 'mkfs.btrfs -V' mkfs.btrfs -q %s
disk ntfs 64 'mkntfs -V' mkntfs -q -F -Q %s
disk fat16 64 'mkfs.fat --help' mkfs.fat -F 16 %s
disk fat32 64 'mkfs.fat --help' mkfs.fat -F 32 %s
disk exfat 64 'mkfs.exfat -V' mkfs.exfat %s
disk f2fs 64 'mkfs.f2fs -V' mkfs.f2fs -q -f %s
disk jfs 64 'jfs_mkfs -V' jfs_mkfs -q %s
disk nilfs2 256 'mkfs.nilfs2 -V' mkfs.nilfs2 -q %s
disk udf 64 'mkudffs --help' mkudffs %s
disk reiserfs 64 'mkreiserfs -V' mkreiserfs -q -f -f %s
loop reiser4 64 'mkfs.reiser4 -V' mkfs.reiser4 -y -f %s
loop gfs2 64 'mkfs.gfs2 -V' mkfs.gfs2 -q -O -p lock_nolock -J 8 %s
loop ocfs2 64 'mkfs.ocfs2 -V' mkfs.ocfs2 -q -F -M local -J size=4M -N 1 %s
disk minix 64 'mkfs.minix -V' mkfs.minix -3 %s
disk bfs 64 'mkfs.bfs -V' mkfs.bfs %s
disk swap 64 'mkswap -V' mkswap %s
pack cramfs 64 'mkfs.cramfs -V' mkfs.cramfs tree %s
pack squashfs 64 'mksquashfs -version' mksquashfs tree %s -quiet
pack erofs 64 'mkfs.erofs --version' mkfs.erofs %s tree
pack iso9660 64 'genisoimage -version' genisoimage -quiet -o %s tree
# The keys' places are noise, which would not compress.
disk luks1 64 'cryptsetup -V' bash -c 'echo -n secret | cryptsetup luksFormat -q --type luks1 --pbkdf-force-iterations 1000 %s - && fallocate -p -o 64KiB -l 63MiB %s'
disk luks2 64 'cryptsetup -V' bash -c 'echo -n secret | cryptsetup luksFormat -q --type luks2 --pbkdf pbkdf2 --pbkdf-force-iterations 1000 %s - && fallocate -p -o 64KiB -l 63MiB %s'
loop lvm 64 'lvm version' pvcreate -q -f -y %s
loop lvm-metadata2 64 'lvm version' pvcreate -q -f -y --pvmetadatacopies 2 %s
loop drbd 64 'drbdadm --version' drbdmeta --force 0 v08 %s internal create-md
loop bcache 64 'dpkg-query -Wf ${Version} bcache-tools' make-bcache -B %s
loop bcache-cache 64 'dpkg-query -Wf ${Version} bcache-tools' make-bcache -C %s
disk mbr-linux 64 'sgdisk -V' bash -c 'sgdisk -n 1:0:0 -t 1:8300 %s && sgdisk -m 1 %s'
disk gpt-ext4 64 'mke2fs -V' bash -c 'mke2fs -q -F -t ext4 -E offset=1048576 %s 60M && sgdisk -o %s' # a deleted partition
disk gpt-linux 64 'sgdisk -V' sgdisk -n 1:0:0 -t 1:8300 %s

tar --sparse --hole-detection=raw --format=gnu --sort=name --owner=0 --group=0 --numeric-owner --mtime=@0 -C images -cf - . | gzip -n -9 >"$here/foreign.tar.gz"
{ printf 'image\tblkid\ttool\tcommand\n'; cat tools.txt; } >"$here/tools.txt"
