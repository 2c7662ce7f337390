// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
	"golang.org/x/sys/windows/registry"

	admin "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/versions"
	"github.com/kubernetes-csi/csi-proxy/internal/agent"
	"github.com/kubernetes-csi/csi-proxy/internal/doctor"
	"github.com/kubernetes-csi/csi-proxy/internal/kernel"
	kernelwindows "github.com/kubernetes-csi/csi-proxy/internal/kernel/windows"
	"github.com/kubernetes-csi/csi-proxy/internal/node"
	"github.com/kubernetes-csi/csi-proxy/internal/proof"
	"github.com/kubernetes-csi/csi-proxy/internal/transport"
	"github.com/kubernetes-csi/csi-proxy/internal/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/winservice"
	machinetests "github.com/kubernetes-csi/csi-proxy/test/windows"
)

// inspectMachine finds out what this machine is and has. It changes nothing.
func inspectMachine(ctx context.Context, base string) (machine, error) {
	m := machine{base: base, administrator: isAdministrator()}
	m.identify()
	m.hidePersonal()
	m.hideComputerNames()
	m.hideDomain()
	m.hideAccounts()
	m.hideSerials()
	m.lookAtPipes(ctx)
	m.lookAtServices()
	m.lookAtSettings()
	m.lookAtPolicies()
	m.lookAtRights()
	m.examine()
	const domainController = 2 // VER_NT_DOMAIN_CONTROLLER
	if windows.RtlGetVersion().ProductType == domainController {
		m.inUse = "this is a domain controller: an account that the kit makes would be one of the domain"
	}
	if _, err := os.Stat(agent.KubeletDir); err == nil {
		m.note("kubelet's directory", agent.KubeletDir+" exists: only what the kit makes below it is touched")
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

// identify names Windows, or Wine, which is no Windows whatever version it pretends to be.
func (m *machine) identify() {
	m.System, m.Architecture = proof.Windows, runtime.GOARCH
	if m.Wine = wineVersion(); m.Wine != "" {
		m.System = proof.Wine
	}
	v := windows.RtlGetVersion()
	m.Build = fmt.Sprintf("%d.%d.%d", v.MajorVersion, v.MinorVersion, v.BuildNumber)
	const key = `SOFTWARE\Microsoft\Windows NT\CurrentVersion`
	if revision, err := number(key, "UBR"); err == nil {
		m.Build += fmt.Sprintf(".%d", revision)
	}
	m.Product, m.Edition = text(key, "ProductName"), text(key, "EditionID")
	const firstOfWindows11, workstation = 22000, 1                         // VER_NT_WORKSTATION
	if v.BuildNumber >= firstOfWindows11 && v.ProductType == workstation { // whose registry says 10
		m.Product = strings.Replace(m.Product, "Windows 10", "Windows 11", 1)
	}
	if release := text(key, "DisplayVersion"); release != "" {
		m.Product += " " + release
	}
	var process, native uint16
	if windows.IsWow64Process2(windows.CurrentProcess(), &process, &native) == nil {
		names := map[uint16]string{0x8664: "amd64", 0xAA64: "arm64"} // IMAGE_FILE_MACHINE_*
		if name := names[native]; name != "" && name != runtime.GOARCH {
			m.Architecture += " emulated on " + name
		}
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

// hideComputerNames adds all the names of this computer.
// https://learn.microsoft.com/windows/win32/api/sysinfoapi/nf-sysinfoapi-getcomputernameexw
func (m *machine) hideComputerNames() {
	for kind, by := range map[uint32]string{
		windows.ComputerNameNetBIOS: "HOST", windows.ComputerNameDnsHostname: "HOST",
		windows.ComputerNameDnsFullyQualified: "HOST", windows.ComputerNameDnsDomain: "DOMAIN",
		windows.ComputerNamePhysicalNetBIOS: "HOST", windows.ComputerNamePhysicalDnsHostname: "HOST",
		windows.ComputerNamePhysicalDnsFullyQualified: "HOST", windows.ComputerNamePhysicalDnsDomain: "DOMAIN",
	} {
		name := make([]uint16, 512)
		size := uint32(len(name))
		if windows.GetComputerNameEx(kind, &name[0], &size) == nil {
			m.redact(by, windows.UTF16ToString(name))
		}
	}
}

// hideDomain adds the domain in all its names, of the machine's registry and as it was joined, and its owner.
// https://learn.microsoft.com/windows/win32/api/lmjoin/nf-lmjoin-netgetjoininformation
func (m *machine) hideDomain() {
	var name *uint16
	var kind uint32
	if windows.NetGetJoinInformation(nil, &name, &kind) == nil {
		m.redact("DOMAIN", windows.UTF16PtrToString(name))
		_ = windows.NetApiBufferFree((*byte)(unsafe.Pointer(name)))
	}
	const tcpip, logon, version = `SYSTEM\CurrentControlSet\Services\Tcpip\Parameters`,
		`SOFTWARE\Microsoft\Windows NT\CurrentVersion\Winlogon`, `SOFTWARE\Microsoft\Windows NT\CurrentVersion`
	for _, value := range []string{"Domain", "NV Domain", "DhcpDomain", "SearchList"} {
		m.redact("DOMAIN", strings.Split(text(tcpip, value), ",")...)
	}
	m.redact("HOST", text(tcpip, "Hostname"), text(tcpip, "NV Hostname"))
	m.redact("DOMAIN", text(logon, "DefaultDomainName"), text(logon, "CachePrimaryDomain"))
	m.redact("USER", text(logon, "DefaultUserName"), text(version, "RegisteredOwner"),
		text(version, "RegisteredOrganization"))
}

// hideAccounts adds the accounts that have ever logged on to this machine: each has a profile, and most a directory of
// their name.
func (m *machine) hideAccounts() {
	const path = `SOFTWARE\Microsoft\Windows NT\CurrentVersion\ProfileList`
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
		e := doctor.Endpoint{Address: `\\.\pipe\` + name, State: doctor.Answers, Server: "a process that is not known"}
		limited, cancel := context.WithTimeout(ctx, 2*time.Second)
		server, err := transport.ServerOf(limited, e.Address)
		cancel()
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			e.Server = server.String()
		}
		m.agentPipes = append(m.agentPipes, name)
		m.facts.Endpoints = append(m.facts.Endpoints, e)
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
		if err == nil || errors.Is(err, winservice.ErrNotInstalled) {
			m.facts.Services = append(m.facts.Services, doctor.Service{
				Name: name, Installed: err == nil, Status: installed.State.String(), Start: installed.Start.String(),
			})
		}
		if name == "kubelet" && err == nil && installed.State != winservice.Stopped {
			m.inUse = "kubelet runs here, and drivers of its pods would call the kit's agent: drain the node and stop " +
				"kubelet first"
		}
		if name == "csiproxy" && !errors.Is(err, winservice.ErrNotInstalled) {
			m.service = state
		}
	}
}

// lookAtSettings reads the settings that decide what becomes of a new disk.
func (m *machine) lookAtSettings() {
	automount := "on"
	off, err := number(`SYSTEM\CurrentControlSet\Services\MountMgr`, "NoAutoMount")
	switch {
	case err == nil && off != 0:
		automount, m.facts.AutomountOff = "off (mountvol /N)", true
	case err != nil && !errors.Is(err, registry.ErrNotExist):
		automount = err.Error()
	}
	m.note("automount", automount)
	policy, err := number(`SYSTEM\CurrentControlSet\Services\partmgr\Parameters`, "SanPolicy")
	switch {
	case errors.Is(err, registry.ErrNotExist):
		m.note("SAN policy", "not set")
	case err != nil:
		m.note("SAN policy", err.Error())
	default:
		m.note("SAN policy", doctor.SANPolicyOf(policy))
		m.facts.SANPolicy = doctor.SANPolicyOf(policy)
	}
}

// lookAtRights checks this process's token for the agent's privileges, and the kit's directory for other accounts that
// may change it.
// https://learn.microsoft.com/windows/win32/api/winnt/ns-winnt-token_privileges
func (m *machine) lookAtRights() {
	if machinetests.RunsAsSystem() {
		m.note("account", "SYSTEM, and not an administrator's: what differs between them is tried as SYSTEM alone")
	}
	held := map[windows.LUID]bool{}
	buffer := make([]windows.LUIDAndAttributes, 128)
	size := uint32(uintptr(len(buffer)) * unsafe.Sizeof(buffer[0]))
	if windows.GetTokenInformation(windows.GetCurrentProcessToken(), windows.TokenPrivileges,
		(*byte)(unsafe.Pointer(&buffer[0])), size, &size) == nil {
		all := (*windows.Tokenprivileges)(unsafe.Pointer(&buffer[0]))
		for _, p := range all.AllPrivileges() {
			held[p.Luid] = true
		}
		m.facts.Inspected = &admin.InspectResponse{}
	}
	for _, p := range node.Privileges() {
		name, err := windows.UTF16PtrFromString(p.Name)
		var luid windows.LUID
		if err == nil && m.facts.Inspected != nil && windows.LookupPrivilegeValue(nil, name, &luid) == nil && !held[luid] {
			m.facts.Inspected.MissingPrivileges = append(m.facts.Inspected.MissingPrivileges,
				&admin.Privilege{Name: p.Name, UserRight: p.UserRight, NeededFor: p.NeededFor})
		}
	}
	if who, err := writers(m.base); err == nil {
		m.facts.Directories = append(m.facts.Directories, doctor.Directory{Path: m.base, Who: who})
	}
}

// lookAtPolicies looks for what keeps disks from being made or the kit's programs from being started.
func (m *machine) lookAtPolicies() {
	if deny, err := number(doctor.BitLockerKey, doctor.BitLockerValue); err == nil && deny == 1 {
		m.facts.BitLockerRequired = true
		m.noDisks = "a policy denies writing to fixed disks that BitLocker does not protect (FDVDenyWriteAccess), as a " +
			"new disk is"
	}
	// https://learn.microsoft.com/windows/win32/api/virtdisk/nf-virtdisk-attachvirtualdisk: neither may its volume be, nor its directory.
	for dir := m.base; ; dir = filepath.Dir(dir) {
		path, err := windows.UTF16PtrFromString(dir)
		if err != nil {
			break
		}
		attributes, err := windows.GetFileAttributes(path)
		if err != nil && dir != filepath.Dir(dir) { // it does not exist yet, and will be as the one above
			continue
		}
		switch {
		case err != nil:
		case attributes&windows.FILE_ATTRIBUTE_COMPRESSED != 0:
			m.noDisks = dir + " is compressed, and a virtual disk cannot be there"
		case attributes&windows.FILE_ATTRIBUTE_ENCRYPTED != 0:
			m.noDisks = dir + " is encrypted by EFS, and a virtual disk cannot be there"
		}
		break
	}
	if m.noDisks != "" {
		m.note("virtual disks", m.noDisks)
	}
	// https://learn.microsoft.com/windows/apps/develop/smart-app-control/test-your-app-with-smart-app-control
	if state, err := number(`SYSTEM\CurrentControlSet\Control\CI\Policy`, "VerifiedAndReputablePolicyState"); err == nil &&
		state != 0 {
		m.note("Smart App Control", map[uint64]string{1: "on: programs that are not signed may not start",
			2: "being evaluated"}[state])
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
