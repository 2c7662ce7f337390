// SPDX-License-Identifier: Apache-2.0

package winservice

import (
	"errors"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

// restart is SC_ACTION_RESTART.
const restart = windows.SC_ACTION_RESTART

// configure calls ChangeServiceConfig2W for the settings beyond a service's basic configuration. Wine answers
// ERROR_INVALID_LEVEL for a setting that it does not have; every Windows since Vista has all of these.
// https://learn.microsoft.com/windows/win32/api/winsvc/nf-winsvc-changeserviceconfig2w
func configure(service windows.Handle, d Definition) error {
	var text wideStrings
	description := windows.SERVICE_DESCRIPTION{Description: text.add(d.Description)}
	if text.err != nil {
		return explain("ChangeServiceConfig2", d.Name, text.err)
	}
	delayed := windows.SERVICE_DELAYED_AUTO_START_INFO{IsDelayedAutoStartUp: number(d.Delayed)}
	preShutdown := uint32(d.PreShutdown.Milliseconds()) // SERVICE_PRESHUTDOWN_INFO
	settings := []struct {
		level uint32
		info  *byte
	}{
		{windows.SERVICE_CONFIG_DESCRIPTION, bytesOf(&description)},
		{windows.SERVICE_CONFIG_DELAYED_AUTO_START_INFO, bytesOf(&delayed)},
		{windows.SERVICE_CONFIG_PRESHUTDOWN_INFO, bytesOf(&preShutdown)},
	}
	if r := d.Recovery; r != nil {
		actions := make([]windows.SC_ACTION, 0, len(r.Restart)+1)
		for _, delay := range r.Restart {
			actions = append(actions, windows.SC_ACTION{Type: restart, Delay: uint32(delay.Milliseconds())})
		}
		list := windows.SERVICE_FAILURE_ACTIONS{
			ResetPeriod: uint32(r.Reset / time.Second), ActionsCount: uint32(len(actions)), Actions: unsafe.SliceData(actions),
		}
		onError := windows.SERVICE_FAILURE_ACTIONS_FLAG{FailureActionsOnNonCrashFailures: int32(number(r.OnError))}
		settings = append(settings, []struct {
			level uint32
			info  *byte
		}{
			{windows.SERVICE_CONFIG_FAILURE_ACTIONS, bytesOf(&list)},
			{windows.SERVICE_CONFIG_FAILURE_ACTIONS_FLAG, bytesOf(&onError)},
		}...)
	}
	for _, s := range settings {
		err := windows.ChangeServiceConfig2(service, s.level, s.info)
		if err != nil && !errors.Is(err, windows.ERROR_INVALID_LEVEL) {
			return explain("ChangeServiceConfig2", d.Name, err)
		}
	}
	return nil
}

// Query calls QueryServiceConfigW, QueryServiceConfig2W and QueryServiceStatusEx.
// https://learn.microsoft.com/windows/win32/api/winsvc/nf-winsvc-queryserviceconfigw
func (m scm) Query(name string) (found Installed, err error) {
	err = m.with(name, windows.SERVICE_QUERY_CONFIG|windows.SERVICE_QUERY_STATUS, func(service windows.Handle) error {
		var err error
		if found.Definition, err = queryConfig(service, name); err != nil {
			return err
		}
		if err := queryMore(service, &found.Definition); err != nil {
			return err
		}
		var status windows.SERVICE_STATUS_PROCESS
		var needed uint32
		err = windows.QueryServiceStatusEx(service, windows.SC_STATUS_PROCESS_INFO, bytesOf(&status),
			uint32(unsafe.Sizeof(status)), &needed)
		if err != nil {
			return explain("QueryServiceStatusEx", name, err)
		}
		found.State, found.PID = State(status.CurrentState), status.ProcessId
		found.ExitCode, found.SpecificExitCode = status.Win32ExitCode, status.ServiceSpecificExitCode
		return nil
	})
	return found, err
}

// command returns the command line of a service.
func (m scm) command(name string) (words []string, err error) {
	err = m.with(name, windows.SERVICE_QUERY_CONFIG, func(service windows.Handle) error {
		d, err := queryConfig(service, name)
		words = d.Command
		return err
	})
	return words, err
}

// queryConfig reads a service's basic configuration.
func queryConfig(service windows.Handle, name string) (Definition, error) {
	buffer, err := grow(func(b *byte, size uint32, needed *uint32) error {
		return windows.QueryServiceConfig(service, (*windows.QUERY_SERVICE_CONFIG)(unsafe.Pointer(b)), size, needed)
	})
	if err != nil {
		return Definition{}, explain("QueryServiceConfig", name, err)
	}
	config := (*windows.QUERY_SERVICE_CONFIG)(unsafe.Pointer(&buffer[0]))
	command, err := windows.DecomposeCommandLine(windows.UTF16PtrToString(config.BinaryPathName))
	if err != nil {
		return Definition{}, explain("CommandLineToArgv", name, err)
	}
	return Definition{
		Name: name, DisplayName: windows.UTF16PtrToString(config.DisplayName), Command: command,
		Start: StartType(config.StartType), Account: windows.UTF16PtrToString(config.ServiceStartName),
	}, nil
}

// queryMore reads the settings of configure. If those for failures are missing, Recovery stays nil.
func queryMore(service windows.Handle, d *Definition) error {
	recovery, known := Recovery{}, true
	for _, setting := range []struct {
		level uint32
		read  func(p unsafe.Pointer)
	}{
		{windows.SERVICE_CONFIG_DESCRIPTION, func(p unsafe.Pointer) {
			d.Description = windows.UTF16PtrToString((*windows.SERVICE_DESCRIPTION)(p).Description)
		}},
		{windows.SERVICE_CONFIG_DELAYED_AUTO_START_INFO, func(p unsafe.Pointer) {
			d.Delayed = (*windows.SERVICE_DELAYED_AUTO_START_INFO)(p).IsDelayedAutoStartUp != 0
		}},
		{windows.SERVICE_CONFIG_PRESHUTDOWN_INFO, func(p unsafe.Pointer) {
			d.PreShutdown = time.Duration(*(*uint32)(p)) * time.Millisecond
		}},
		{windows.SERVICE_CONFIG_FAILURE_ACTIONS, func(p unsafe.Pointer) {
			list := (*windows.SERVICE_FAILURE_ACTIONS)(p)
			recovery.Reset = time.Duration(list.ResetPeriod) * time.Second
			for _, action := range unsafe.Slice(list.Actions, list.ActionsCount) {
				if action.Type == restart {
					recovery.Restart = append(recovery.Restart, time.Duration(action.Delay)*time.Millisecond)
				}
			}
		}},
		{windows.SERVICE_CONFIG_FAILURE_ACTIONS_FLAG, func(p unsafe.Pointer) {
			recovery.OnError = (*windows.SERVICE_FAILURE_ACTIONS_FLAG)(p).FailureActionsOnNonCrashFailures != 0
		}},
	} {
		buffer, err := grow(func(b *byte, size uint32, needed *uint32) error {
			return windows.QueryServiceConfig2(service, setting.level, b, size, needed)
		})
		switch {
		case errors.Is(err, windows.ERROR_INVALID_LEVEL):
			known = false
		case err != nil:
			return explain("QueryServiceConfig2", d.Name, err)
		default:
			setting.read(unsafe.Pointer(&buffer[0]))
		}
	}
	if known {
		d.Recovery = &recovery
	}
	return nil
}

// grow calls a function with a growing buffer until its answer fits. The buffer is aligned to eight bytes, like the
// structures in it.
func grow(call func(b *byte, size uint32, needed *uint32) error) ([]uint64, error) {
	needed := uint32(1024)
	for {
		buffer := make([]uint64, (needed+7)/8)
		size := uint32(len(buffer) * 8)
		err := call((*byte)(unsafe.Pointer(&buffer[0])), size, &needed)
		if !errors.Is(err, windows.ERROR_INSUFFICIENT_BUFFER) || needed <= size {
			return buffer, err
		}
	}
}

// number returns a BOOL.
func number(b bool) uint32 {
	if b {
		return 1
	}
	return 0
}
