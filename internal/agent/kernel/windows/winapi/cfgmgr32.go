// SPDX-License-Identifier: Apache-2.0

//go:build windows

package winapi

// CM_REENUMERATE_SYNCHRONOUS makes CMReenumerateDevNode return when the enumeration is done.
const CM_REENUMERATE_SYNCHRONOUS = 0x00000001

// CMPWaitNoPendingInstallEvents waits, for some milliseconds at most, until no device is being installed. It returns
// windows.WAIT_OBJECT_0, windows.WAIT_TIMEOUT or windows.WAIT_FAILED, and with the last an error.
// https://learn.microsoft.com/windows/win32/api/cfgmgr32/nf-cfgmgr32-cm_waitnopendinginstallevents
//sys	CMPWaitNoPendingInstallEvents(timeout uint32) (ret uint32, err error) [failretval==windows.WAIT_FAILED] = cfgmgr32.CMP_WaitNoPendingInstallEvents

// CMLocateDevNode finds the node of a device instance id, nil for the root, and returns the status, a CONFIGRET.
// https://learn.microsoft.com/windows/win32/api/cfgmgr32/nf-cfgmgr32-cm_locate_devnodew
//sys	CMLocateDevNode(devInst *windows.DEVINST, deviceID *uint16, flags uint32) (ret windows.CONFIGRET) = cfgmgr32.CM_Locate_DevNodeW

// CMReenumerateDevNode enumerates the devices below a node again. It returns the status itself, a CONFIGRET.
// https://learn.microsoft.com/windows/win32/api/cfgmgr32/nf-cfgmgr32-cm_reenumerate_devnode
//sys	CMReenumerateDevNode(devInst windows.DEVINST, flags uint32) (ret windows.CONFIGRET) = cfgmgr32.CM_Reenumerate_DevNode
