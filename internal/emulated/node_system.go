// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"slices"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/deviceside"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/scenario"
)

// SystemFirmwareTable returns the node's SMBIOS: a BIOS, and a system with the scenario's serial number.
func (n *Node) SystemFirmwareTable(provider, _ uint32) (_ []byte, err error) {
	defer n.call("GetSystemFirmwareTable", "", &err)()
	if provider != kernel.ProviderSMBIOS {
		return nil, win32.ERROR_INVALID_FUNCTION
	}
	return smbios(n.state.SystemSerial), nil
}

func smbios(serial string) []byte {
	system := win32.SMBIOSStructure{
		Type: 1, Strings: []string{"csi-proxy", "Emulated Windows node"},
		// Manufacturer 1, product 2, version none, serial number none; UUID not set; wake-up type unknown.
		Data: append([]byte{1, 2, 0, 0}, append(make([]byte, 16), 2, 0, 0)...),
	}
	if strings.TrimSpace(serial) != "" {
		system.Data[3] = 3
		system.Strings = append(system.Strings, serial)
	}
	bios := win32.SMBIOSStructure{
		Type: 0, Strings: []string{"csi-proxy"},
		// Vendor 1; version, start segment, release date and ROM size none; characteristics not supported.
		Data: []byte{1, 0, 0, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0},
	}
	return deviceside.SMBIOS(win32.SMBIOS{bios, system})
}

// EnablePrivilege implements kernel.Machine. The process that the node knows is the agent; a reboot ends it.
func (n *Node) EnablePrivilege(name string) (err error) {
	defer n.call("AdjustTokenPrivileges", name, &err)()
	switch {
	case !slices.Contains(scenario.KnownPrivileges(), name):
		return win32.ERROR_NO_SUCH_PRIVILEGE
	case n.state.Switches.LacksPrivilege(name):
		return win32.ERROR_NOT_ALL_ASSIGNED
	}
	n.privileges[name] = true
	return nil
}

// privileged reports whether a privilege is enabled.
func (n *Node) privileged(name string) bool {
	return n.privileges[name] && !n.state.Switches.LacksPrivilege(name)
}

// RegistryStrings implements kernel.Machine for the values that say which disks Windows needs.
func (n *Node) RegistryStrings(key, value string) (_ []string, err error) {
	name := key + `\` + value
	defer n.call("RegQueryValueExW", name, &err)()
	const control = `system\currentcontrolset\control\`
	switch strings.ToLower(name) {
	case `system\setup\systempartition`:
		return n.systemPartition(), nil
	case control + `session manager\memory management\pagingfiles`:
		return prefixed("", n.state.PageFiles, " 0 0"), nil
	case control + `session manager\memory management\existingpagefiles`:
		return prefixed(`\??\`, n.state.PageFiles, ""), nil
	case control + `crashcontrol\dumpfile`:
		return []string{`C:\Windows\MEMORY.DMP`}, nil
	case control + `crashcontrol\dedicateddumpfile`:
		if n.state.DumpFile != "" {
			return []string{n.state.DumpFile}, nil
		}
	}
	return nil, nil
}

func prefixed(before string, texts []string, after string) []string {
	var all []string
	for _, text := range texts {
		all = append(all, before+text+after)
	}
	return all
}

// systemPartition returns the device of the partition that Windows boots from.
func (n *Node) systemPartition() []string {
	for _, d := range n.disks.list() {
		if d.record.Image != n.state.BootImage {
			continue
		}
		for _, p := range d.layout.DriveLayout().Partitions {
			if p.Type == win32.PartitionEFISystem || p.Boot {
				return []string{(&volume{disk: d, Partition: p}).deviceName()}
			}
		}
	}
	return nil
}
