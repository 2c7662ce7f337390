// SPDX-License-Identifier: Apache-2.0

// Package emulated is a Windows node made of files: a kernel.Kernel that keeps its disks, volumes, mount points and
// directories in a state directory, so that the agent runs and is tested on any operating system.
//
// What is in the state directory:
//
//	node.json       everything that neither an image nor a directory tells: which disks are attached, mount records
//	disks/*.img     one sparse file a disk; partitions and file systems are what the image says
//	disks/*.journal a change of an image that was not finished; applied at the next Open
//	detached/*.img  images of disks that were pulled, and of iSCSI logical units without a session
//	volumes/GUID/   the files of one volume, plainly
//	shares/S/T/     the files of the share T of the file server S, plainly
//	lock            held by the agent that runs the node
//
// Every change survives the death of the process at any point: afterwards it has happened or it has not.
//
// Inside a volume's directory, names that begin with .csi-proxy-reparse are the node's own.
//
// Disks carry real GUID partition tables and NTFS boot sectors. Inside volumes, symbolic links and mount points are
// directories with a reserved file in them; a symbolic link of the host is never followed.
//
// What Windows does is taken from its documentation, named where it is used. Where that leaves a question that changes
// what an agent must do, Switches has both answers. Not confirmed, and with one answer only: a protective MBR without
// a good GPT header reads as RAW; an offline disk refuses changes of its tables with ERROR_WRITE_PROTECT; handles on a
// disk that was pulled give ERROR_NO_SUCH_DEVICE; the system disk refuses to go offline with ERROR_ACCESS_DENIED;
// DeleteVolumeMountPointW of a volume that is gone gives ERROR_FILE_NOT_FOUND; the mount manager forgets a mount point
// that is deleted as a file.
//
// Not emulated: links to files, deletion at the last close, reading files through the kernel, extended MBR partitions,
// volumes on several disks. A clone of a disk that gets a new identity has the original's file system, but none of
// its files: these are not in the image.
package emulated
