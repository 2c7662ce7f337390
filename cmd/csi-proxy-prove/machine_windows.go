// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"runtime"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
	"golang.org/x/sys/windows/registry"

	"github.com/kubernetes-csi/csi-proxy/client/versions"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	kernelwindows "github.com/kubernetes-csi/csi-proxy/internal/agent/kernel/windows"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/transport"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winservice"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/doctor"
	tests "github.com/kubernetes-csi/csi-proxy/internal/emulated/machine"
	"github.com/kubernetes-csi/csi-proxy/internal/proof"
)

// inspectMachine finds out what this machine is and has. It changes nothing.
func inspectMachine(ctx context.Context, base string) (machine, error) {
	m := machine{base: base, administrator: isAdministrator()}
	m.identify()
	m.hidePersonal()
	m.hideNames()
	m.hideAccounts()
	m.hideSerials()
	m.lookAtPipes(ctx)
	m.lookAtServices()
	m.lookAtSettings()
	if tests.RunsAsSystem() {
		m.note("account", "SYSTEM, and not an administrator's: what differs between them is tried as SYSTEM alone")
	}
	const domainController = 2 // VER_NT_DOMAIN_CONTROLLER
	if windows.RtlGetVersion().ProductType == domainController {
		m.inUse = "this is a domain controller: an account that the kit makes would be one of the domain"
	}
	path, err := windows.UTF16PtrFromString(filepath.Dir(base)) // it may not exist yet
	if err == nil {
		err = windows.GetDiskFreeSpaceEx(path, &m.freeBytes, nil, nil)
	}
	return m, err
}

// isAdministrator reports whether this process has an administrator's rights, and does not only belong to one.
// https://learn.microsoft.com/windows/win32/api/securitybaseapi/nf-securitybaseapi-checktokenmembership
func isAdministrator() bool {
	administrators, err := windows.CreateWellKnownSid(windows.WinBuiltinAdministratorsSid)
	if err != nil {
		return false
	}
	is, err := windows.Token(0).IsMember(administrators)
	return err == nil && is
}

// currentVersion is the registry's key of what this Windows is.
const currentVersion = `SOFTWARE\Microsoft\Windows NT\CurrentVersion`

// identify names Windows, or Wine, which is no Windows whatever version it pretends to be.
func (m *machine) identify() {
	m.System, m.Architecture = proof.Windows, runtime.GOARCH
	if m.Wine = wineVersion(); m.Wine != "" {
		m.System = proof.Wine
	}
	v := windows.RtlGetVersion()
	m.Build = fmt.Sprintf("%d.%d.%d", v.MajorVersion, v.MinorVersion, v.BuildNumber)
	if revision, err := number(currentVersion, "UBR"); err == nil {
		m.Build += fmt.Sprintf(".%d", revision)
	}
	m.Product, m.Edition = text(currentVersion, "ProductName"), text(currentVersion, "EditionID")
	const firstOfWindows11, workstation = 22000, 1                         // VER_NT_WORKSTATION
	if v.BuildNumber >= firstOfWindows11 && v.ProductType == workstation { // whose registry says 10
		m.Product = strings.Replace(m.Product, "Windows 10", "Windows 11", 1)
	}
	if release := text(currentVersion, "DisplayVersion"); release != "" {
		m.Product += " " + release
	}
	const environment = `SYSTEM\CurrentControlSet\Control\Session Manager\Environment`
	native := strings.ToLower(text(environment, "PROCESSOR_ARCHITECTURE"))
	if native != "" && native != m.Architecture {
		m.Architecture += " emulated on " + native
	}
}

// wineVersion returns the version of Wine, "" on Windows.
func wineVersion() string {
	p := windows.NewLazySystemDLL("ntdll.dll").NewProc("wine_get_version")
	if p.Find() != nil {
		return ""
	}
	text, _, _ := p.Call()
	return windows.BytePtrToString(*(**byte)(unsafe.Pointer(&text))) // a C string that lives as long as the process
}

// hideNames adds all the names of this computer and of its domain, and its owner.
// https://learn.microsoft.com/windows/win32/api/lmjoin/nf-lmjoin-netgetjoininformation
func (m *machine) hideNames() {
	var name *uint16
	var kind uint32
	if windows.NetGetJoinInformation(nil, &name, &kind) == nil {
		m.redact("DOMAIN", windows.UTF16PtrToString(name))
		_ = windows.NetApiBufferFree((*byte)(unsafe.Pointer(name)))
	}
	const tcpip, computer = `SYSTEM\CurrentControlSet\Services\Tcpip\Parameters`,
		`SYSTEM\CurrentControlSet\Control\ComputerName\`
	const logon = currentVersion + `\Winlogon`
	for _, v := range []struct{ by, key, value string }{
		{"HOST", computer + "ComputerName", "ComputerName"}, {"HOST", computer + "ActiveComputerName", "ComputerName"},
		{"HOST", tcpip, "Hostname"}, {"HOST", tcpip, "NV Hostname"},
		{"DOMAIN", tcpip, "Domain"}, {"DOMAIN", tcpip, "NV Domain"}, {"DOMAIN", tcpip, "DhcpDomain"},
		{"DOMAIN", tcpip, "SearchList"}, {"DOMAIN", logon, "DefaultDomainName"}, {"DOMAIN", logon, "CachePrimaryDomain"},
		{"USER", logon, "DefaultUserName"}, {"USER", currentVersion, "RegisteredOwner"},
		{"USER", currentVersion, "RegisteredOrganization"},
	} {
		m.redact(v.by, strings.Split(text(v.key, v.value), ",")...)
	}
}

// hideAccounts adds the accounts that have ever logged on to this machine: each has a profile, and most a directory of
// their name.
func (m *machine) hideAccounts() {
	const path = currentVersion + `\ProfileList`
	key, err := registry.OpenKey(registry.LOCAL_MACHINE, path, registry.ENUMERATE_SUB_KEYS|registry.WOW64_64KEY)
	if err != nil {
		return
	}
	defer func() { _ = key.Close() }()
	sids, _ := key.ReadSubKeyNames(-1)
	for _, name := range sids {
		if !strings.HasPrefix(name, "S-1-5-21-") && !strings.HasPrefix(name, "S-1-12-1-") { // a service's
			continue
		}
		m.redact("USER", filepath.Base(text(path+`\`+name, "ProfileImagePath")))
		if sid, err := windows.StringToSid(strings.TrimSuffix(name, ".bak")); err == nil {
			if account, domain, _, err := sid.LookupAccount(""); err == nil {
				m.redact("USER", account)
				m.redact("DOMAIN", domain)
			}
		}
	}
}

// hideSerials finds the serial numbers of this machine and of its disks.
func (m *machine) hideSerials() {
	k := kernelwindows.New()
	if table, err := k.SystemFirmwareTable(kernel.ProviderSMBIOS, 0); err == nil {
		if smbios, err := win32.ParseSMBIOS(table); err == nil {
			m.machineSerial = smbios.SystemSerialNumber()
		}
	}
	paths, _ := k.DiskInterfaces()
	for _, path := range paths {
		h, err := k.OpenDevice(path, 0)
		if err != nil {
			continue
		}
		out := make([]byte, 4096)
		n, err := h.DeviceIoControl(win32.IOCTL_STORAGE_QUERY_PROPERTY,
			win32.StoragePropertyQuery{PropertyID: win32.StorageDeviceProperty}.Bytes(), out)
		_ = h.Close()
		if err != nil {
			continue
		}
		if d, err := win32.ParseStorageDevice(out[:n]); err == nil {
			m.diskSerials = append(m.diskSerials, d.SerialNumber)
		}
	}
}

// lookAtPipes tries the pipes of all versions. One that exists is another agent's.
func (m *machine) lookAtPipes(ctx context.Context) {
	names := []string{"csiproxy-admin"}
	for _, g := range versions.Groups() {
		for _, v := range append(g.Versions(), g.Hub) {
			names = append(names, "csi-proxy-"+g.Name+"-"+v)
		}
	}
	for _, name := range names {
		limited, cancel := context.WithTimeout(ctx, 2*time.Second)
		_, err := transport.ServerOf(limited, `\\.\pipe\`+name)
		cancel()
		if !errors.Is(err, fs.ErrNotExist) {
			m.agentPipes = append(m.agentPipes, name)
		}
	}
}

// lookAtServices asks for the services that the parts need or could meet.
func (m *machine) lookAtServices() {
	scm, err := winservice.Connect()
	if err != nil {
		m.note("services", err.Error())
		return
	}
	defer func() { _ = scm.Close() }()
	for _, name := range []string{"csiproxy", "kubelet", "LanmanServer", "LanmanWorkstation", "MSiSCSI", "WinTarget",
		"W32Time", "vds", "Winmgmt"} {
		installed, err := scm.Query(name)
		state := "not installed"
		switch {
		case err == nil:
			state = fmt.Sprintf("%v, %v", installed.State, installed.Start)
		case !errors.Is(err, winservice.ErrNotInstalled):
			state = err.Error()
		}
		m.note("service "+name, state)
		if name == "kubelet" && err == nil && installed.State != winservice.Stopped {
			m.inUse = "kubelet runs here, and drivers of its pods would call the kit's agent: drain the node and stop " +
				"kubelet first"
		}
		if name == "csiproxy" && !errors.Is(err, winservice.ErrNotInstalled) {
			m.service = state
		}
	}
}

// lookAtSettings reads the settings that decide what becomes of a new disk, and of programs that are not signed.
// https://learn.microsoft.com/windows/apps/develop/smart-app-control/test-your-app-with-smart-app-control
func (m *machine) lookAtSettings() {
	for _, s := range []struct{ name, key, value string }{
		{"automount", `SYSTEM\CurrentControlSet\Services\MountMgr`, "NoAutoMount"},
		{"SAN policy", `SYSTEM\CurrentControlSet\Services\partmgr\Parameters`, "SanPolicy"},
		{"BitLocker", doctor.BitLockerKey, doctor.BitLockerValue},
		{"Smart App Control", `SYSTEM\CurrentControlSet\Control\CI\Policy`, "VerifiedAndReputablePolicyState"},
	} {
		n, err := number(s.key, s.value)
		switch {
		case err == nil:
			m.note(s.name, fmt.Sprintf("%s is %d", s.value, n))
		case !errors.Is(err, registry.ErrNotExist):
			m.note(s.name, err.Error())
		}
		if s.value == doctor.BitLockerValue && n == 1 {
			m.noDisks = "a policy denies writing to fixed disks that BitLocker does not protect (FDVDenyWriteAccess), as a " +
				"new disk is"
		}
	}
}

// recordsDirectory returns the place of the agents' records of shares.
func recordsDirectory() string {
	return filepath.Join(filepath.Dir(baseDirectory()), "csi-proxy", "shares")
}

// number reads a number below HKEY_LOCAL_MACHINE.
func number(path, value string) (uint64, error) {
	key, err := registry.OpenKey(registry.LOCAL_MACHINE, path, registry.QUERY_VALUE|registry.WOW64_64KEY)
	if err != nil {
		return 0, err
	}
	defer func() { _ = key.Close() }()
	n, _, err := key.GetIntegerValue(value)
	return n, err
}

// text reads a string there, "" where there is none.
func text(path, value string) string {
	key, err := registry.OpenKey(registry.LOCAL_MACHINE, path, registry.QUERY_VALUE|registry.WOW64_64KEY)
	if err != nil {
		return ""
	}
	defer func() { _ = key.Close() }()
	s, _, err := key.GetStringValue(value)
	if err != nil {
		return ""
	}
	return s
}
