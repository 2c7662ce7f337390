// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/windows"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel/windows/wmi"
)

// wmiClient asks Windows' own providers, as witnesses beside the calls that the agent makes.
var wmiClient wmi.Client

// BIOSSerial returns the serial number of Win32_BIOS. Its provider, cimwin32.dll, reads the SMBIOS tables itself, while
// the agent reads them by GetSystemFirmwareTable: they have only the tables in common. The registry has no serial
// number (HARDWARE\DESCRIPTION\System\BIOS), and mssmbios' copy of the tables would need our own parser.
// https://learn.microsoft.com/windows/win32/cimwin32prov/win32-bios
func BIOSSerial() (serial string, err error) {
	err = wmiClient.Each(`ROOT\CIMV2`, "SELECT SerialNumber FROM Win32_BIOS",
		func(bios wmi.Instance) (done bool, err error) {
			serial, err = bios.String("SerialNumber")
			return true, err
		})
	return strings.TrimSpace(serial), err
}

// scriptEnd is what a script prints last: the powershell.exe of Wine runs none, and reports success.
const scriptEnd = "end of script"

// powershell runs a script in Windows PowerShell, with variables in its environment, and returns what it prints.
func powershell(script string, environment ...string) (string, error) {
	out, err := runTool(`WindowsPowerShell\v1.0\powershell.exe`, environment,
		"-NoProfile", "-NonInteractive", "-Command", "$ErrorActionPreference = 'Stop'; "+script+"; '"+scriptEnd+"'")
	if err != nil {
		return "", err
	}
	text, whole := strings.CutSuffix(strings.TrimSpace(out), scriptEnd)
	if !whole {
		return "", fmt.Errorf("powershell: the script did not run to its end: %s", out)
	}
	return strings.TrimSpace(text), nil
}

// runTool runs a program of the system directory, with more variables in its environment, and returns what it prints.
func runTool(program string, environment []string, arguments ...string) (string, error) {
	system, err := windows.GetSystemDirectory()
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute) // also when the test is over
	defer cancel()
	c := exec.CommandContext(ctx, filepath.Join(system, program), arguments...) //nolint:gosec // Windows' own
	c.Env = append(os.Environ(), environment...)
	var failed strings.Builder
	c.Stderr = &failed
	out, err := c.Output()
	if err != nil {
		err = fmt.Errorf("%s: %w: %s%s", program, err, out, failed.String())
	}
	return string(out), err
}
