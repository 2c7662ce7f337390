// SPDX-License-Identifier: Apache-2.0

package win32

import "fmt"

// When a service starts (QUERY_SERVICE_CONFIGW).
// https://learn.microsoft.com/windows/win32/api/winsvc/ns-winsvc-query_service_configw
const (
	SERVICE_BOOT_START   uint32 = 0 // a driver that the boot loader loads
	SERVICE_SYSTEM_START uint32 = 1 // a driver that starts with the kernel
	SERVICE_AUTO_START   uint32 = 2 // with Windows
	SERVICE_DEMAND_START uint32 = 3 // on request
	SERVICE_DISABLED     uint32 = 4 // never
)

// ServiceState is the state of a service (SERVICE_STATUS). The zero value is unknown.
// https://learn.microsoft.com/windows/win32/api/winsvc/ns-winsvc-service_status
type ServiceState uint32

// The states of a service.
const (
	SERVICE_STOPPED          ServiceState = 1
	SERVICE_START_PENDING    ServiceState = 2
	SERVICE_STOP_PENDING     ServiceState = 3
	SERVICE_RUNNING          ServiceState = 4
	SERVICE_CONTINUE_PENDING ServiceState = 5
	SERVICE_PAUSE_PENDING    ServiceState = 6
	SERVICE_PAUSED           ServiceState = 7
)

// String returns the state in words that fit after "is".
func (s ServiceState) String() string {
	words := [...]string{"in an unknown state", "stopped", "starting", "stopping", "running", "about to continue",
		"about to pause", "paused"}
	if int(s) >= len(words) {
		return fmt.Sprintf("in state %d", uint32(s))
	}
	return words[s]
}

// SERVICE_ACCEPT_STOP is set for a service that can be stopped now (SERVICE_STATUS.dwControlsAccepted).
const SERVICE_ACCEPT_STOP uint32 = 0x1
