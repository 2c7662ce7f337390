// SPDX-License-Identifier: Apache-2.0

package operation

// answersOnWine lists the methods that do not end with OK on Wine, by group and name, or group, name and version where
// versions differ: the code, and the Windows function with its error. Wine knows one disk by its number and answers
// hardly any question about it, and has no reparse points, no mounted folders, no iSCSI initiator and no global
// mappings. A method that is not listed ends with OK there. With a fake initiator the calls about iSCSI do, too:
// TestISCSIOnThisMachine, with a fake WMI those about shares: TestSMBOnThisMachine, and with fake disks and links those
// about disks, volumes, mounted folders and links: TestDisksOnThisMachine. With all but the initiator the steps of a
// node service do: TestNodeStepsOnThisMachine.
func answersOnWine() map[string]string {
	return map[string]string{
		"disk GetAttachState":      "Unimplemented DeviceIoControl ERROR_NOT_SUPPORTED",
		"disk GetDiskNumberByName": "Internal CM_Get_Device_Interface_ListW ERROR_GEN_FAILURE",
		"disk GetDiskState":        "Unimplemented DeviceIoControl ERROR_NOT_SUPPORTED",
		"disk ListDiskIDs":         "Internal CM_Get_Device_Interface_ListW ERROR_GEN_FAILURE",
		"disk ListDiskLocations":   "Internal CM_Get_Device_Interface_ListW ERROR_GEN_FAILURE",
		"disk PartitionDisk":       "Unimplemented DeviceIoControl ERROR_NOT_SUPPORTED",
		"disk Rescan":              "Internal CM_Locate_DevNodeW ERROR_GEN_FAILURE",
		"disk SetAttachState":      "Unimplemented",
		"disk SetDiskState":        "Unimplemented",

		"filesystem CreateSymlink": "Unimplemented DeviceIoControl ERROR_NOT_SUPPORTED",
		"filesystem LinkPath":      "Unimplemented DeviceIoControl ERROR_NOT_SUPPORTED",

		"iscsi AddTargetPortal":      "Unimplemented ReportIScsiSendTargetPortalsW ERROR_CALL_NOT_IMPLEMENTED",
		"iscsi ConnectTarget":        "Unimplemented GetIScsiSessionListW ERROR_CALL_NOT_IMPLEMENTED",
		"iscsi DisconnectTarget":     "Unimplemented GetIScsiSessionListW ERROR_CALL_NOT_IMPLEMENTED",
		"iscsi DiscoverTargetPortal": "Unimplemented ReportIScsiSendTargetPortalsW ERROR_CALL_NOT_IMPLEMENTED",
		"iscsi GetTargetDisks":       "Unimplemented GetIScsiSessionListW ERROR_CALL_NOT_IMPLEMENTED",
		"iscsi ListTargetPortals":    "Unimplemented ReportIScsiSendTargetPortalsW ERROR_CALL_NOT_IMPLEMENTED",
		"iscsi RemoveTargetPortal":   "Unimplemented ReportIScsiSendTargetPortalsW ERROR_CALL_NOT_IMPLEMENTED",
		"iscsi SetMutualChapSecret":  "Unimplemented SetIScsiInitiatorCHAPSharedSecret ERROR_CALL_NOT_IMPLEMENTED",

		"nodesteps Expand":     "Internal CM_Locate_DevNodeW ERROR_GEN_FAILURE",
		"nodesteps Publish":    "Unimplemented DeviceIoControl ERROR_NOT_SUPPORTED",
		"nodesteps StageDisk":  "Unimplemented DeviceIoControl ERROR_NOT_SUPPORTED",
		"nodesteps StageShare": "Unavailable MSFT_SmbGlobalMapping ERROR_NOT_SUPPORTED",

		"smb NewSmbGlobalMapping":    "Unavailable MSFT_SmbGlobalMapping ERROR_NOT_SUPPORTED",
		"smb RemoveSmbGlobalMapping": "Unavailable MSFT_SmbGlobalMapping ERROR_NOT_SUPPORTED",

		"volume FormatVolume":              "Unimplemented",
		"volume GetDiskNumberFromVolumeID": "Unimplemented",
		"volume GetVolumeDiskNumber":       "Unimplemented",
		"volume GetVolumeIDFromMount":      "NotFound",
		"volume GetVolumeIDFromTargetPath": "NotFound",
		"volume ListVolumesOnDisk":         "Unimplemented DeviceIoControl ERROR_NOT_SUPPORTED",
		"volume MountVolume":               "Unimplemented",
		"volume ResizeVolume":              "Unimplemented",
		"volume WriteVolumeCache":          "Unimplemented FlushFileBuffers ERROR_INVALID_FUNCTION",
	}
}
