// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"fmt"
	"slices"
	"strings"

	"github.com/Microsoft/go-winio/pkg/guid"

	"github.com/kubernetes-csi/csi-proxy/internal/win32"
)

// RegistryStrings implements kernel.Registry for the values that say which disks Windows needs.
func (n *Node) RegistryStrings(key, value string) ([]string, error) {
	name := key + `\` + value
	return called(n, "RegQueryValueExW", name, func() ([]string, error) { return n.registry(strings.ToLower(name)), nil })
}

func (n *Node) registry(name string) []string {
	const control = `system\currentcontrolset\control\`
	switch name {
	case `system\setup\systempartition`:
		return n.systemPartition()
	case control + `session manager\memory management\pagingfiles`:
		return prefixed("", n.state.PageFiles, " 0 0")
	case control + `session manager\memory management\existingpagefiles`:
		return prefixed(`\??\`, n.state.PageFiles, "")
	case control + `crashcontrol\dumpfile`:
		return []string{`C:\Windows\MEMORY.DMP`}
	case control + `crashcontrol\dedicateddumpfile`:
		if n.state.DumpFile != "" {
			return []string{n.state.DumpFile}
		}
	}
	return nil
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
	if n.state.Switches.SystemPartitionUnknown {
		return nil
	}
	for _, d := range n.diskList() {
		if d.record.Image != n.state.BootImage {
			continue
		}
		for _, p := range d.layout.driveLayout().Partitions {
			if p.Type == win32.PartitionEFISystem || p.Boot {
				return []string{fmt.Sprintf(`\Device\HarddiskVolume%d`, volumeNumber(d.number, p.Number))}
			}
		}
	}
	return nil
}

// volumeNumber returns the number in the device name of a volume. Windows numbers volumes as they arrive.
func volumeNumber(disk, partition uint32) uint32 { return disk<<8 + partition }

// deviceName returns the volume's name in the object manager.
func (v *volume) deviceName() string {
	return fmt.Sprintf(`%sHarddiskVolume%d`, devicePrefix, volumeNumber(v.disk.number, v.number))
}

// volumeAtDevice returns the volume with the device name, in lower case: \\.\c:, \\?\globalroot\device\harddiskvolumeN
// or \\?\globalroot\device\harddiskN\partitionN.
func (n *Node) volumeAtDevice(name string) (guid.GUID, bool) {
	if letter, ok := strings.CutPrefix(name, `\\.\`); ok {
		i := slices.IndexFunc(n.state.Letters, func(l letterState) bool { return strings.EqualFold(l.Letter+":", letter) })
		if i >= 0 {
			return n.state.Letters[i].Volume, true
		}
	}
	number, numbered := cutNumber(name, `\\?\globalroot\device\harddiskvolume`, "")
	for _, v := range n.volumeList() {
		if numbered && volumeNumber(v.disk.number, v.number) == number ||
			!numbered && name == fmt.Sprintf(`\\?\globalroot\device\harddisk%d\partition%d`, v.disk.number, v.number) {
			return v.id, true
		}
	}
	return guid.GUID{}, false
}
