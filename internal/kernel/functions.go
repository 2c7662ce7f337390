// SPDX-License-Identifier: Apache-2.0

package kernel

// Functions lists what Call.Function can be: the methods of Kernel and of Handle, of which Close passes no interceptor.
//
// It is written down because asking the interfaces at run time (reflect.Type.MethodByName) would make the linker keep
// every exported method of every type in the program: a fifth of the agent.
func Functions() []string {
	return []string{
		// Devices
		"DiskInterfaces", "OpenDevice", "ReenumerateDevices",
		// Files
		"OpenFile", "SystemWindowsDirectory",
		// Handle
		"DeviceIoControl", "ReadAt", "Flush", "FinalPath", "Information", "SetInformation",
		// Volumes
		"VolumeNames", "VolumePathNames", "VolumeNameForMountPoint", "SetVolumeMountPoint", "DeleteVolumeMountPoint",
		"VolumeInformation", "DiskFreeSpace", "FormatVolume",
		// ISCSI
		"AddISCSISendTargetPortal", "ReportISCSISendTargetPortals", "RefreshISCSISendTargetPortal",
		"RemoveISCSISendTargetPortal", "ReportISCSITargets", "ReportISCSITargetPortals", "ISCSISessionList",
		"DevicesForISCSISession", "ISCSIPersistentLogins", "RemoveISCSIPersistentTarget", "LoginISCSITarget",
		"LogoutISCSITarget", "SetISCSIInitiatorCHAPSharedSecret",
		// Services
		"QueryService", "StartService", "StopService", "DependentServices",
		// Firmware
		"SystemFirmwareTable",
		// SMB
		"SMBGlobalMappings", "CreateSMBGlobalMapping", "RemoveSMBGlobalMapping",
	}
}
