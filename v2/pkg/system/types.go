// SPDX-License-Identifier: Apache-2.0

package system

// ServiceStatus is the state of a service.
type ServiceStatus uint32

// The states. A pending one is on its way to another.
const (
	SERVICE_STATUS_UNKNOWN          ServiceStatus = 0
	SERVICE_STATUS_STOPPED          ServiceStatus = 1
	SERVICE_STATUS_START_PENDING    ServiceStatus = 2
	SERVICE_STATUS_STOP_PENDING     ServiceStatus = 3
	SERVICE_STATUS_RUNNING          ServiceStatus = 4
	SERVICE_STATUS_CONTINUE_PENDING ServiceStatus = 5
	SERVICE_STATUS_PAUSE_PENDING    ServiceStatus = 6
	SERVICE_STATUS_PAUSED           ServiceStatus = 7
)

// StartType is when a service starts.
type StartType uint32

// Startype is the name of StartType in v2.0.0-alpha.1.
type Startype = StartType

// The start types: by the boot loader, with the kernel, with Windows, on request, never.
const (
	START_TYPE_BOOT      StartType = 0
	START_TYPE_SYSTEM    StartType = 1
	START_TYPE_AUTOMATIC StartType = 2
	START_TYPE_MANUAL    StartType = 3
	START_TYPE_DISABLED  StartType = 4
)

// Requests and responses are named after their calls. A Name is that of a service, not the one displayed.
type (
	// GetBIOSSerialNumberRequest has no fields.
	GetBIOSSerialNumberRequest struct{}

	// GetBIOSSerialNumberResponse has the serial number.
	GetBIOSSerialNumberResponse struct {
		SerialNumber string
	}

	// StartServiceRequest names the service.
	StartServiceRequest struct {
		Name string
	}

	// StartServiceResponse has no fields.
	StartServiceResponse struct{}

	// StopServiceRequest names the service.
	StopServiceRequest struct {
		Name string
		// Force stops running services that depend on it first.
		Force bool
	}

	// StopServiceResponse has no fields.
	StopServiceResponse struct{}

	// GetServiceRequest names the service.
	GetServiceRequest struct {
		Name string
	}

	// GetServiceResponse has the configuration and the state of the service.
	GetServiceResponse struct {
		DisplayName string
		StartType   StartType
		Status      ServiceStatus
	}
)
