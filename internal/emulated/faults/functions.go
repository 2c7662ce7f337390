// SPDX-License-Identifier: Apache-2.0

package faults

// Functions lists the possible values of kernel.Call.Function: the methods of kernel.Kernel and kernel.Handle. Close is
// missing because it passes no interceptor.
//
// The list is written by hand because querying the interfaces at run time (reflect.Type.MethodByName) would make the
// linker keep every exported method of every type in the program, which is a fifth of the agent.
func Functions() []string {
	return []string{
		// Devices
		"DiskInterfaces", "AdapterInterfaces", "OpenDevice", "ReenumerateDevices",
		"WaitForDeviceInstalls", "UpdateStorageCache",
		"ResizePartition", "OnlinePartition",
		// Files
		"OpenFile", "QueryAttributes", "SystemWindowsDirectory",
		// Handle
		"DeviceIoControl", "ReadAt", "Flush", "FinalPath", "Information", "SetInformation",
		"FsInformation", "AccessList", "SetAccessList", "Rename",
		// Volumes
		"VolumeNames", "VolumePathNames", "VolumeNameForMountPoint", "SetVolumeMountPoint", "DeleteVolumeMountPoint",
		"VolumeInformation", "DiskFreeSpace", "FormatVolume",
		// ISCSI
		"AddISCSISendTargetPortal", "ReportISCSISendTargetPortals", "RefreshISCSISendTargetPortal",
		"RemoveISCSISendTargetPortal", "ReportISCSITargets", "ReportISCSITargetPortals", "ISCSIDiscoveryMechanisms",
		"ISCSISessionList", "DevicesForISCSISession", "ISCSIPersistentLogins",
		"RemoveISCSIPersistentTarget", "LoginISCSITarget",
		"LogoutISCSITarget", "SetISCSIInitiatorCHAPSharedSecret",
		// Services
		"QueryService", "StartService", "StopService", "DependentServices",
		// Firmware
		"SystemFirmwareTable",
		// Privileges
		"EnablePrivilege",
		// Registry
		"RegistryStrings",
		// SMB
		"SMBGlobalMappings", "CreateSMBGlobalMapping", "RemoveSMBGlobalMapping",
	}
}
