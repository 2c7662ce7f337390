// SPDX-License-Identifier: Apache-2.0

package faults

import "strings"

// ofWindows has the functions under the names of Windows' functions, which errors show. A function that several of
// ours call has the one that is called first.
var ofWindows = map[string]string{
	"cm_get_device_interface_list": "DiskInterfaces", "createfile": "OpenDevice",
	"cm_locate_devnode":      "ReenumerateDevices",
	"cm_reenumerate_devnode": "ReenumerateDevices", "cmp_waitnopendinginstallevents": "WaitForDeviceInstalls",
	"msft_storagesetting.updatehoststoragecache": "UpdateStorageCache", "msft_partition.resize": "ResizePartition",
	"ntcreatefile": "OpenFile", "ntqueryfullattributesfile": "QueryAttributes",
	"getsystemwindowsdirectory": "SystemWindowsDirectory",
	"readfile":                  "ReadAt", "flushfilebuffers": "Flush", "getfinalpathnamebyhandle": "FinalPath",
	"getfileinformationbyhandleex": "Information", "setfileinformationbyhandle": "SetInformation",
	"ntqueryvolumeinformationfile": "FsInformation", "getsecurityinfo": "AccessList",
	"setkernelobjectsecurity": "SetAccessList", "ntsetinformationfile": "Rename",
	"findfirstvolume": "VolumeNames", "findnextvolume": "VolumeNames",
	"getvolumepathnamesforvolumename":   "VolumePathNames",
	"getvolumenameforvolumemountpoint":  "VolumeNameForMountPoint",
	"getvolumeinformation":              "VolumeInformation",
	"getdiskfreespaceex":                "DiskFreeSpace",
	"msft_volume.format":                "FormatVolume",
	"getiscsitargetinformation":         "ISCSIDiscoveryMechanisms",
	"getiscsisessionlist":               "ISCSISessionList",
	"getdevicesforiscsisession":         "DevicesForISCSISession",
	"reportiscsipersistentlogins":       "ISCSIPersistentLogins",
	"setiscsiinitiatorchapsharedsecret": "SetISCSIInitiatorCHAPSharedSecret",
	"openscmanager":                     "QueryService", "openservice": "QueryService",
	"queryserviceconfig": "QueryService", "queryservicestatusex": "QueryService",
	"controlservice": "StopService", "enumdependentservices": "DependentServices",
	"getsystemfirmwaretable": "SystemFirmwareTable", "adjusttokenprivileges": "EnablePrivilege",
	"regopenkeyex": "RegistryStrings", "regqueryvalueex": "RegistryStrings",
	"msft_smbglobalmapping": "SMBGlobalMappings", "msft_smbglobalmapping.create": "CreateSMBGlobalMapping",
	"msft_smbglobalmapping.remove": "RemoveSMBGlobalMapping",
}

// FunctionNamed returns the function that a person means: by its own name or by Windows', in any case and with or
// without the W at the end. It returns "" if there is none.
func FunctionNamed(name string) string {
	plain := strings.ToLower(name)
	for _, spelling := range []string{plain, strings.TrimSuffix(plain, "w")} {
		if of := ofWindows[spelling]; of != "" {
			return of
		}
		for _, own := range Functions() {
			if strings.ToLower(own) == spelling {
				return own
			}
		}
	}
	return ""
}
