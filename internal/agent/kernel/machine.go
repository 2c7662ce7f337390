// SPDX-License-Identifier: Apache-2.0

package kernel

import "github.com/kubernetes-csi/csi-proxy/internal/agent/win32"

// Services is the Service Control Manager's view of the node's services.
type Services interface {
	// QueryService returns the configuration and state of a service by its service name, in any case (OpenSCManagerW with
	// SC_MANAGER_CONNECT, OpenServiceW with SERVICE_QUERY_CONFIG and SERVICE_QUERY_STATUS, QueryServiceConfigW,
	// QueryServiceStatusEx). ERROR_SERVICE_DOES_NOT_EXIST: there is none.
	QueryService(name string) (Service, error)

	// StartService requests the start of a service and those that it depends on, and does not wait (OpenServiceW with
	// SERVICE_START, StartServiceW without arguments). ERROR_SERVICE_ALREADY_RUNNING: it is not stopped.
	StartService(name string) error

	// StopService requests the stop of a service and does not wait for it (OpenServiceW with SERVICE_STOP, ControlService
	// with SERVICE_CONTROL_STOP). ERROR_SERVICE_NOT_ACTIVE: it is stopped. ERROR_SERVICE_CANNOT_ACCEPT_CTRL: it is
	// between two states. ERROR_DEPENDENT_SERVICES_RUNNING: see DependentServices.
	StopService(name string) error

	// DependentServices names the services that depend on a service, directly or not, and are not stopped, in the order
	// in which they can be stopped (OpenServiceW with SERVICE_ENUMERATE_DEPENDENTS, EnumDependentServicesW with
	// SERVICE_ACTIVE, which returns them in reverse start order).
	DependentServices(name string) ([]string, error)
}

// Service is what the agent reads of a service, with the numbers of QUERY_SERVICE_CONFIGW and SERVICE_STATUS_PROCESS.
type Service struct {
	DisplayName string
	StartType   win32.ServiceStart

	State           win32.ServiceState
	ExitCode        uint32 // Win32 code of the last stop; ERROR_SERVICE_SPECIFIC_ERROR: see ServiceExitCode
	ServiceExitCode uint32
	CheckPoint      uint32 // grows while a pending state makes progress
	WaitHint        uint32 // milliseconds until the next step of a pending state
}

// Machine is the machine's firmware and configuration, and what this process may do on it.
type Machine interface {
	// SystemFirmwareTable returns a provider's table (GetSystemFirmwareTable). ERROR_INVALID_FUNCTION: no such provider.
	SystemFirmwareTable(provider, id uint32) ([]byte, error)

	// RegistryStrings returns the strings of a value of a key below HKEY_LOCAL_MACHINE: those of a REG_MULTI_SZ, or the
	// one of a REG_SZ or REG_EXPAND_SZ, with environment variables expanded (RegQueryValueExW, ExpandEnvironmentStringsW).
	// A missing key or value gives none.
	RegistryStrings(key, value string) ([]string, error)

	// EnablePrivilege enables a privilege of this process's token, such as SeCreateSymbolicLinkPrivilege, which has no
	// effect before (OpenProcessToken, LookupPrivilegeValueW, AdjustTokenPrivileges). ERROR_NOT_ALL_ASSIGNED: the token
	// does not have it.
	EnablePrivilege(name string) error
}

// ProviderSMBIOS is the provider 'RSMB', whose only table, 0, win32.ParseSMBIOS decodes.
const ProviderSMBIOS uint32 = 0x52534D42
