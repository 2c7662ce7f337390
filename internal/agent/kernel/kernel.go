// SPDX-License-Identifier: Apache-2.0

// Package kernel is the operating system surface below the agent: one method for each Win32 facility that is used,
// named after it, with bytes wherever Windows itself takes a buffer. It makes no decisions. Two kernels implement it:
// windows makes the real calls, emulated is a Windows node made of files.
//
// An interface of meanings, such as ListDisks, would hide below it all that can go wrong on Windows, where no test
// runs. With bytes, only the lines that pass a buffer to a system call differ.
package kernel

import (
	"strings"
	"time"
)

// How many calls of a kind Windows' providers are given at the same time. Each keeps a thread until it is over.
const (
	MostMaps    = 16  // CreateSMBGlobalMapping, two at a time for a server
	MostUnmaps  = 16  // RemoveSMBGlobalMapping, likewise
	MostFormats = 128 // FormatVolume
)

// MountManager is the path of the mount manager as a device (MOUNTMGR_DOS_DEVICE_NAME).
const MountManager = `\\.\MountPointManager`

// Kernel is one Windows node as its storage administration sees it. Every method fails with *Error, which carries
// the Win32 code. Methods are safe for concurrent use. None takes a context: a synchronous Win32 call cannot be
// abandoned safely, so a caller with a deadline waits for the call on another goroutine.
type Kernel interface {
	Devices
	Files
	Volumes
	ISCSI
	Services
	Machine
	SMB
}

// Devices reaches disks and volumes as devices.
type Devices interface {
	// DiskInterfaces lists the device interface paths of the disks that are present, offline ones included, in no
	// particular order (CM_Get_Device_Interface_ListW with GUID_DEVINTERFACE_DISK).
	DiskInterfaces() ([]string, error)

	// AdapterInterfaces lists the device interface paths of the storage adapters that are present, those without a
	// disk included (CM_Get_Device_Interface_ListW with GUID_DEVINTERFACE_STORAGEPORT).
	AdapterInterfaces() ([]string, error)

	// OpenDevice opens a disk or an adapter by interface path, a disk as \\.\PhysicalDriveN, or a volume as
	// \\?\Volume{GUID}, \\.\X:, \\?\GLOBALROOT\Device\HarddiskVolumeN or, by the partition that it lies on,
	// \\?\GLOBALROOT\Device\HarddiskN\PartitionN, each without a trailing backslash, or the MountManager
	// (CreateFileW, OPEN_EXISTING, shared for reading and writing). Access 0 is enough for control codes that need no
	// access right; see win32.GENERIC_READ and win32.GENERIC_WRITE.
	OpenDevice(path string, access uint32) (Handle, error)

	// ReenumerateDevices makes Windows look for devices that came or went, and returns when Windows is done
	// (CM_Locate_DevNodeW of the root, CM_Reenumerate_DevNode with CM_REENUMERATE_SYNCHRONOUS).
	ReenumerateDevices() error

	// WaitForDeviceInstalls waits until no device is being installed, or fails with ERROR_TIMEOUT when the limit is over
	// (CMP_WaitNoPendingInstallEvents). A disk that Windows has never seen is listed only once it is installed, which
	// ReenumerateDevices does not wait for.
	WaitForDeviceInstalls(limit time.Duration) error

	// UpdateStorageCache makes Windows' storage management look for disks, and for changes of those that it knows
	// (MSFT_StorageSetting.UpdateHostStorageCache).
	UpdateStorageCache() error

	// ResizePartition makes the partition that begins at an offset of a disk, and the file system in it, sizeBytes long
	// (MSFT_Partition.Resize).
	ResizePartition(diskNumber uint32, offset, sizeBytes int64) error

	// OnlinePartition brings the volume of the partition at an offset of a disk online (MSFT_Partition.Online).
	OnlinePartition(diskNumber uint32, offset int64) error
}

// Files reaches files and directories by handle.
type Files interface {
	// OpenFile opens or creates one file or directory (NtCreateFile, for backup intent). With a nil
	// dir, name is an absolute \\?\ path; otherwise it is exactly one path component below the directory dir, and is not
	// interpreted further: . and .. are not special, and the kernel expands no short names.
	OpenFile(dir Handle, name string, how OpenOptions) (Handle, error)

	// QueryAttributes asks for the attributes of what is at a \\?\ path on a drive, and fails if nothing is
	// (NtQueryFullAttributesFile). It follows links no more than OpenFile with DontReparse, and needs no right to the
	// object that the list of its directory does not give.
	QueryAttributes(path string) error

	// SystemWindowsDirectory returns the directory of the running Windows, mostly C:\Windows (GetSystemWindowsDirectoryW).
	SystemWindowsDirectory() (string, error)
}

// maxObject limits the bytes of a path that errors, the journal and faults show: workloads control a tree's depth.
const maxObject = 1024

// ObjectIn returns the path of an object in a directory that has a path. The middle of a long path is left out.
func ObjectIn(dir, name string) string {
	const begin, gap = maxObject / 4, "…"
	path := dir + `\` + name
	if len(path) <= maxObject {
		return path
	}
	head, _, _ := strings.Cut(path[:begin], gap)
	return strings.ToValidUTF8(head+gap+path[len(path)-(maxObject-begin-len(gap)):], "")
}

// OpenOptions are the parameters of NtCreateFile under their Win32 names; the values are in package win32.
type OpenOptions struct {
	Access      uint32 // win32.FILE_LIST_DIRECTORY, win32.DELETE and so on; SYNCHRONIZE is implied, as a rule
	Share       uint32 // win32.FILE_SHARE_READ and so on
	Disposition uint32 // win32.FILE_OPEN, FILE_CREATE or FILE_OPEN_IF
	Options     uint32 // win32.FILE_DIRECTORY_FILE, FILE_OPEN_REPARSE_POINT

	// DontReparse: of a path on a drive, no link or mount point on the way is followed, at whichever level it is:
	// ERROR_REPARSE_POINT_ENCOUNTERED (OBJ_DONT_REPARSE). ERROR_FILE_NOT_FOUND: all that is on the way is there.
	DontReparse bool

	// Asynchronous: not even SYNCHRONIZE is asked for. What the right to a directory allows with a file whose own list
	// does not (FILE_DELETE_CHILD, FILE_LIST_DIRECTORY) is refused if any more is.
	Asynchronous bool
}

// Handle is an open disk, volume, file or directory. Calls on one handle may be concurrent.
type Handle interface {
	// DeviceIoControl sends a control code with its input buffer, in, and returns how many bytes of out were
	// written. On ERROR_MORE_DATA, n bytes of out are valid as well; on ERROR_INSUFFICIENT_BUFFER, none are.
	DeviceIoControl(code uint32, in, out []byte) (n int, err error)

	// ReadAt reads from a disk or volume. Offset and length are multiples of the sector size (ReadFile with an
	// OVERLAPPED offset). Reading at or past the end returns io.EOF.
	ReadAt(p []byte, offset int64) (int, error)

	// Flush writes cached data through to the medium (FlushFileBuffers). A volume handle flushes the volume.
	Flush() error

	// FinalPath returns the path of the open object, links resolved (GetFinalPathNameByHandleW): VOLUME_NAME_DOS
	// \\?\C:\dir or \\?\UNC\server\share\dir, VOLUME_NAME_GUID \\?\Volume{GUID}\dir.
	FinalPath(volumeName uint32) (string, error)

	// Information fills out with an information class of the file (GetFileInformationByHandleEx). Directory classes
	// return the next entries at each call and ERROR_NO_MORE_FILES at the end, or ERROR_FILE_NOT_FOUND if there are
	// none. Whether entries that are made meanwhile are among them is left open; one that was returned may be deleted
	// without losing any that was not.
	Information(class uint32, out []byte) error

	// SetInformation sets an information class (SetFileInformationByHandle).
	SetInformation(class uint32, in []byte) error

	// FsInformation fills out with an information class of the file system on which the file is
	// (NtQueryVolumeInformationFile), that of a file server for a file on a share.
	FsInformation(class uint32, out []byte) error

	// AccessList returns the access list of a file or directory, as a self-relative security descriptor. The handle needs
	// win32.READ_CONTROL. (GetSecurityInfo with DACL_SECURITY_INFORMATION)
	AccessList() ([]byte, error)

	// SetAccessList sets it, and changes nothing below a directory. The handle needs win32.WRITE_DAC.
	// (SetKernelObjectSecurity with DACL_SECURITY_INFORMATION; SetSecurityInfo would change what is below)
	SetAccessList(descriptor []byte) error

	// Rename moves the file or directory into an open directory of the same volume, under a name that is free there. The
	// handle needs win32.DELETE. (NtSetInformationFile with FileRenameInformation; SetFileInformationByHandle reads the
	// new name as a path.) ERROR_ALREADY_EXISTS: the name is taken. ERROR_ACCESS_DENIED: something below is open.
	Rename(dir Handle, name string) error

	// Close releases the handle. Other calls on it must have returned.
	Close() error
}

// Volumes is the view of volumes that the mount manager and the file systems have.
type Volumes interface {
	// VolumeNames lists the volume names, each \\?\Volume{GUID}\ (FindFirstVolumeW, FindNextVolumeW).
	VolumeNames() ([]string, error)

	// VolumePathNames lists the mount points and drive letters that the mount manager knows for a volume name
	// (GetVolumePathNamesForVolumeNameW).
	VolumePathNames(volumeName string) ([]string, error)

	// VolumeNameForMountPoint returns the volume name mounted at a directory or drive root given with a trailing
	// backslash (GetVolumeNameForVolumeMountPointW). ERROR_NOT_A_REPARSE_POINT: a plain directory.
	VolumeNameForMountPoint(mountPoint string) (string, error)

	// SetVolumeMountPoint mounts a volume name at an empty directory, both with a trailing backslash
	// (SetVolumeMountPointW). ERROR_DIR_NOT_EMPTY: the directory has entries or is a mount point already.
	SetVolumeMountPoint(mountPoint, volumeName string) error

	// DeleteVolumeMountPoint removes the mount point and leaves the empty directory (DeleteVolumeMountPointW).
	DeleteVolumeMountPoint(mountPoint string) error

	// VolumeInformation returns the name of the file system at a volume root, \\?\Volume{GUID}\, such as "NTFS"
	// (GetVolumeInformationW). ERROR_UNRECOGNIZED_VOLUME: none that Windows knows.
	VolumeInformation(root string) (fileSystem string, err error)

	// DiskFreeSpace returns the size and the free space of the file system at a root, in bytes
	// (GetDiskFreeSpaceExW; free is lpTotalNumberOfFreeBytes, not the caller's quota).
	DiskFreeSpace(root string) (total, free uint64, err error)

	// FormatVolume makes a file system on the volume, quickly, with default cluster size and no label, whatever the
	// volume held before (MSFT_Volume.Format with Full=false, Force=true). FileSystem is "NTFS". The provider answers from
	// a cache: about a new volume or one that has just come online, it may say StorageCacheOutOfDate, StorageNotInCache,
	// StorageDiskOffline or ERROR_WRITE_PROTECT.
	FormatVolume(volumeName, fileSystem string) error
}
