// SPDX-License-Identifier: Apache-2.0

// Package emulated is a Windows node made of files: a kernel.Kernel that keeps its disks, volumes, mount points and
// directories in a state directory, so that the agent can run and be tested on any operating system.
//
// The state directory contains:
//
//	node.json       all that neither images nor directories hold, such as attached disks and mount records
//	disks/*.disk/   the disks, attached or not, each with its image and the files of its volumes
//	shares/S/T/     the files of the share T of the file server S, as plain files
//	lock            held by the agent that runs the node
//
// If the process dies, all that was answered stays, and the change that was being made has happened or has not; only a
// format may have removed the files and kept the old file system.
//
// The files are named by their rooms: node_ for the node as a whole and its state, disk_, volume_ and file_ for what
// Windows makes of disks, smb_ and iscsi_ for the network. What needs no node is in packages below: scenario for what
// a new node is made of, hostfiles for crash-safe changes of the host's files, bundle for the directories of disks,
// ntpath for paths, services, smb and iscsi for what a node keeps of each.
//
// Inside a volume's directory, names that begin with .csi-proxy-reparse are reserved for the node.
//
// Disks carry real GUID partition tables, and marks of NTFS file systems. Inside volumes, symbolic links and
// mount points are directories with a reserved file in them; a symbolic link of the host is never followed.
//
// The behaviour of Windows is taken from its documentation, which is named where it is used. Where that leaves a
// question open that matters to an agent, Switches has both answers. Not confirmed, and with one answer only: a
// protective MBR without a good GPT header reads as RAW; an offline disk refuses changes of its tables with
// ERROR_WRITE_PROTECT; handles on a disk that was pulled give ERROR_NO_SUCH_DEVICE; the system disk refuses to go
// offline with ERROR_ACCESS_DENIED; DeleteVolumeMountPointW of a volume that is gone gives ERROR_FILE_NOT_FOUND; the
// mount manager forgets a mount point that is deleted as a file.
//
// Not emulated: links to files, deletion at the last close, making, reading and flushing files through the kernel,
// extended MBR partitions, volumes on several disks, the order of NTFS in listings of more than 512 names, the space of
// files more than 24 levels deep. The copy of an image without its bundle has the original's file system, but none of
// its files.
package emulated
