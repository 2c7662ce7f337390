// SPDX-License-Identifier: Apache-2.0

package contract

// varies returns, for methods whose kernel calls are not always exactly those of their examples, the cause of the
// difference.
func varies() map[string]string {
	const (
		path   = "if a link or mount point is on the way: two calls for each directory on the way are added."
		byText = "with the path: Windows takes it as text, so that each directory on the way is held by a handle of its " +
			"own, with two calls for each. After a sharing violation the call is repeated for 0.5 s."
	)
	return map[string]string{
		"disk/ListDiskLocations": "with the disks. Windows lists them in no particular order; the emulated node by number.",
		"disk/ListDiskIDs":       "with the disks, as above. A descriptor longer than the buffer is read again.",
		"disk/PartitionDisk": "the layout is read until the Microsoft reserved partition exists, for 1 s at most; ReadAt is " +
			"called for each part of the disk that must be blank, a hundred times or so.",
		"disk/SetDiskState":     "after bringing a disk online, until each of its partitions has its volume.",
		"filesystem/PathExists": "with a link on the way, or if more than the last name is missing: then each directory on the way is opened and looked at.",
		"filesystem/Mkdir":      "with the path: each directory on the way is opened and looked at.",
		"filesystem/Rmdir": "with what is below a directory: entries are listed in buffers, and each is opened, looked at and " +
			"removed, until a listing finds none. For that, and for a mount point, each directory on the way is held by a " +
			"handle of its own. What lies more than twelve levels deep is moved up (Rename). After a sharing violation the " +
			"call is repeated for 2 s.",
		"filesystem/RmdirContents": "as Rmdir.",
		"filesystem/CreateSymlink": "as Mkdir, for the link.",
		"filesystem/IsSymlink":     "as PathExists, and again for the link's target.",
		"volume/ListVolumesOnDisk": "with all volumes of the node; until each partition has its volume, for 10 s " +
			"at most.",
		"volume/MountVolume": byText +
			" Before, the disk is locked and looked at, so that nothing that the system needs is mounted over: 16 calls.",
		"volume/UnmountVolume":                    byText,
		"volume/ResizeVolume":                     "with the disk: tables are written only where they change.",
		"volume/GetVolumeIDFromTargetPath":        path + " Links are followed one by one.",
		"volume/GetClosestVolumeIDFromTargetPath": path + " Links are followed one by one.",
		"volume/FormatVolume": "ReadAt is called for each part of the volume that must be blank, a hundred " +
			"times or so; an NTFS is listed. All of it is repeated while the volume is busy or not known to the storage " +
			"provider, for 10 s at most.",
		"smb/NewSmbGlobalMapping": "with the local path: two calls for each directory on the way.",
		"iscsi/ConnectTarget":     "with the number of sessions.",
		"iscsi/DisconnectTarget":  "with the number of sessions, persistent logins and disks.",
		"iscsi/GetTargetDisks": "with the number of sessions and disks; after a login until the disks have their numbers, for " +
			"10 s at most.",
		"system/StartService": "QueryService is called until the service runs, for 30 s at most; it is listed here once.",
		"system/StopService":  "with the dependents; QueryService as in StartService.",
	}
}
