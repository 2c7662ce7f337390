// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

// machineQuestions returns the questions for Windows itself.
func machineQuestions() []Question {
	all := []Question{
		{1, "Does IOCTL_SCSI_GET_ADDRESS agree with MSFT_Disk.Location?", askDisks},
		{2, "Is the serial number of the device descriptor that of MSFT_Disk?", askDisks},
		unasked(9, "Can GetVolumeNameForVolumeMountPointW differ from FindFirstVolumeW's name for the same volume?",
			"a disk would have to move between two machines"),
		{15, "After RemoveAll of a directory with a mount point in it: is the volume's content there, and the mount " +
			"manager's record?", askRemoveAll},
		unasked(21, "Do ContainerAdministrator, ContainerUser and HostProcess containers reach the pipes?",
			"a cluster with a pod of each kind is needed"),
		{36, "What does Windows tell of the disks that it needs: in the registry, by the bus types of adapters, and by the " +
			"LUNs of NVMe disks?", askNeeds},
	}
	return slices.Concat(all, linkQuestions(), automountQuestions(), machineArrivalQuestions(), rightsQuestions(),
		fileQuestions())
}

// readDisk is what the agent reads from a disk, beside the output of Windows' own tools.
type readDisk struct {
	Address     string
	Serial      string
	Identifiers string // of page 83, in their order
	Failed      string
}

func (q *inquiry) readDisks() map[string]readDisk {
	q.Helper()
	paths, err := q.Kernel.DiskInterfaces()
	q.check(err)
	found := map[string]readDisk{}
	for _, path := range paths {
		number, disk, err := q.readDisk(path)
		if err != nil {
			disk.Failed = err.Error()
		}
		found[number] = disk
	}
	return found
}

// property asks a device or adapter for a property.
func property[T any](h kernel.Handle, id uint32, parse func([]byte) (T, error)) (answer T, err error) {
	out := make([]byte, 4096)
	n, err := h.DeviceIoControl(win32.IOCTL_STORAGE_QUERY_PROPERTY, win32.StoragePropertyQuery{PropertyID: id}.Bytes(), out)
	if err != nil {
		return answer, err
	}
	return parse(out[:n])
}

func (s Subject) readDisk(path string) (number string, disk readDisk, err error) {
	h, err := s.Kernel.OpenDevice(path, 0)
	if err != nil {
		return path, disk, err
	}
	defer h.Close()
	device, err := query(h, win32.IOCTL_STORAGE_GET_DEVICE_NUMBER, 12, win32.ParseStorageDeviceNumber)
	if err != nil {
		return path, disk, err
	}
	number = fmt.Sprint(device.DeviceNumber)
	address, err := query(h, win32.IOCTL_SCSI_GET_ADDRESS, 8, win32.ParseSCSIAddress)
	if err != nil {
		return number, disk, err
	}
	disk.Address = fmt.Sprintf("%+v", address)
	descriptor, err := property(h, win32.StorageDeviceProperty, win32.ParseStorageDevice)
	if err != nil {
		return number, disk, err
	}
	disk.Serial = fmt.Sprintf("%q", descriptor.SerialNumber)
	identifiers, err := property(h, win32.StorageDeviceIdProperty, win32.ParseStorageDeviceID)
	for _, id := range identifiers.Identifiers {
		disk.Identifiers += fmt.Sprintf("code set %d, type %d, association %d: %x; ", id.CodeSet, id.Type,
			id.Association, id.Identifier)
	}
	if err != nil {
		disk.Identifiers += verdict(err) // not every disk has that page
	}
	return number, disk, nil
}

func askDisks(q *inquiry) {
	q.attach()
	answers := note(q, map[string]any{"control codes": q.readDisks()})
	theirs, err := storageDisks()
	q.check(err)
	answers["MSFT_Disk"] = theirs
}

// askNeeds writes down what ListDiskLocations is decided from, beside what Windows' own tools say.
func askNeeds(q *inquiry) {
	answers := note(q, map[string]any{})
	for key, values := range map[string][]string{
		`SYSTEM\Setup`: {"SystemPartition"},
		`SYSTEM\CurrentControlSet\Control\Session Manager\Memory Management`: {"ExistingPageFiles", "PagingFiles"},
		`SYSTEM\CurrentControlSet\Control\CrashControl`:                      {"DedicatedDumpFile", "DumpFile"},
	} {
		for _, value := range values {
			texts, err := q.Kernel.RegistryStrings(key, value)
			answers[value] = fmt.Sprintf("%q %s", texts, verdict(err))
			for _, text := range texts {
				if device, ok := strings.CutPrefix(text, `\Device\`); ok {
					h, err := q.Kernel.OpenDevice(`\\?\GLOBALROOT\Device\`+device, 0)
					answers["opening "+text] = verdict(err)
					if err == nil {
						_ = h.Close()
					}
				}
			}
		}
	}
	paths, err := q.Kernel.AdapterInterfaces()
	q.check(err)
	for _, path := range paths {
		answers[path] = q.adapter(path)
	}
	answers["disks"] = q.readDisks()
	theirs, err := storageDisks()
	q.check(err)
	answers["MSFT_Disk"] = theirs
}

func (s Subject) adapter(path string) string {
	h, err := s.Kernel.OpenDevice(path, 0)
	if err != nil {
		return verdict(err)
	}
	defer h.Close()
	adapter, err := property(h, win32.StorageAdapterProperty, win32.ParseStorageAdapter)
	return fmt.Sprintf("%+v %s", adapter, verdict(err))
}

func askRemoveAll(q *inquiry) {
	volume, dir := q.newVolume(), q.TempDir()
	mount := filepath.Join(dir, "mount")
	q.check(os.Mkdir(mount, 0o700))
	q.check(q.Kernel.SetVolumeMountPoint(mount+`\`, volume))
	q.Cleanup(func() { _ = q.Kernel.DeleteVolumeMountPoint(mount + `\`) })
	q.check(os.WriteFile(filepath.Join(mount, "file"), []byte("precious"), 0o600))
	answers := note(q, map[string]string{"RemoveAll": fmt.Sprint(os.RemoveAll(dir))})
	_, err := os.ReadFile(volume + "file")
	answers["the volume's file"] = fmt.Sprint(err)
	paths, err := q.Kernel.VolumePathNames(volume)
	answers["the mount manager's record"] = fmt.Sprint(paths, err)
	q.check(os.MkdirAll(mount, 0o700))
	answers["mounting there again"] = verdict(q.Kernel.SetVolumeMountPoint(mount+`\`, volume))
}

// smbiosSerial returns the serial number that the agent reads.
func smbiosSerial(k kernel.Kernel) (string, error) {
	table, err := k.SystemFirmwareTable(kernel.ProviderSMBIOS, 0)
	if err != nil {
		return "", err
	}
	smbios, err := win32.ParseSMBIOS(table)
	if err != nil {
		return "", err
	}
	return smbios.SystemSerialNumber(), nil
}

// unasked returns a question that needs more than one machine.
func unasked(number int, text, why string) Question {
	return Question{number, text, func(q *inquiry) { q.Skip(why) }}
}
