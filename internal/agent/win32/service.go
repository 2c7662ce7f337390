// SPDX-License-Identifier: Apache-2.0

package win32

// When a service starts (QUERY_SERVICE_CONFIGW).
// https://learn.microsoft.com/windows/win32/api/winsvc/ns-winsvc-query_service_configw
const (
	SERVICE_BOOT_START   uint32 = 0 // a driver that the boot loader loads
	SERVICE_SYSTEM_START uint32 = 1 // a driver that starts with the kernel
	SERVICE_AUTO_START   uint32 = 2 // with Windows
	SERVICE_DEMAND_START uint32 = 3 // on request
	SERVICE_DISABLED     uint32 = 4 // never
)

// The states of a service (SERVICE_STATUS).
// https://learn.microsoft.com/windows/win32/api/winsvc/ns-winsvc-service_status
const (
	SERVICE_STOPPED          uint32 = 1
	SERVICE_START_PENDING    uint32 = 2
	SERVICE_STOP_PENDING     uint32 = 3
	SERVICE_RUNNING          uint32 = 4
	SERVICE_CONTINUE_PENDING uint32 = 5
	SERVICE_PAUSE_PENDING    uint32 = 6
	SERVICE_PAUSED           uint32 = 7
)

// SERVICE_ACCEPT_STOP is set for a service that can be stopped now (SERVICE_STATUS.dwControlsAccepted).
const SERVICE_ACCEPT_STOP uint32 = 0x1
