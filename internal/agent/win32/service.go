// SPDX-License-Identifier: Apache-2.0

package win32

import "fmt"

// ServiceStart is when a service starts (QUERY_SERVICE_CONFIGW).
// https://learn.microsoft.com/windows/win32/api/winsvc/ns-winsvc-query_service_configw
type ServiceStart uint32

// When a service starts.
const (
	SERVICE_BOOT_START   ServiceStart = 0 // a driver that the boot loader loads
	SERVICE_SYSTEM_START ServiceStart = 1 // a driver that starts with the kernel
	SERVICE_AUTO_START   ServiceStart = 2 // with Windows
	SERVICE_DEMAND_START ServiceStart = 3 // on request
	SERVICE_DISABLED     ServiceStart = 4 // never
)

// String returns the word that services.msc and scenario files have for it.
func (s ServiceStart) String() string {
	words := [...]string{"boot", "system", "automatic", "manual", "disabled"}
	if int(s) >= len(words) {
		return fmt.Sprintf("start type %d", uint32(s))
	}
	return words[s]
}

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
