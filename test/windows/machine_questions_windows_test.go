// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/windows"

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
		{13, "Does format.com take a volume's GUID path without asking, raw and formatted?", askFormatCom},
		{14, "Does os.Root refuse a volume that is mounted below it?", askRoot},
		{15, "After RemoveAll of a directory with a mount point in it: is the volume's content there, and the mount " +
			"manager's record?", askRemoveAll},
		{20, "Is the SMBIOS serial number that of Win32_BIOS?", askBIOS},
		unasked(21, "Do ContainerAdministrator, ContainerUser and HostProcess containers reach the pipes?",
			"a cluster with a pod of each kind is needed"),
		{24, "Do all reads of disks parse, on this architecture?", askReads},
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
	Failed      string `json:",omitempty"`
}

func readDisks(s Subject) (map[string]readDisk, error) {
	paths, err := s.Kernel.DiskInterfaces()
	if err != nil {
		return nil, err
	}
	found := map[string]readDisk{}
	for _, path := range paths {
		number, disk, err := readOne(s, path)
		if err != nil {
			disk.Failed = err.Error()
		}
		found[number] = disk
	}
	return found, nil
}

func readOne(s Subject, path string) (number string, disk readDisk, err error) {
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
	out := make([]byte, 4096)
	n, err := h.DeviceIoControl(win32.IOCTL_STORAGE_QUERY_PROPERTY,
		win32.StoragePropertyQuery{PropertyID: win32.StorageDeviceProperty}.Bytes(), out)
	if err != nil {
		return number, disk, err
	}
	descriptor, err := win32.ParseStorageDevice(out[:n])
	if err != nil {
		return number, disk, err
	}
	disk.Serial = fmt.Sprintf("%q", descriptor.SerialNumber)
	n, err = h.DeviceIoControl(win32.IOCTL_STORAGE_QUERY_PROPERTY,
		win32.StoragePropertyQuery{PropertyID: win32.StorageDeviceIdProperty}.Bytes(), out)
	if err != nil {
		disk.Identifiers = verdict(err) // not every disk has that page
		return number, disk, nil
	}
	identifiers, err := win32.ParseStorageDeviceID(out[:n])
	for _, id := range identifiers.Identifiers {
		disk.Identifiers += fmt.Sprintf("code set %d, type %d, association %d: %x; ", id.CodeSet, id.Type,
			id.Association, id.Identifier)
	}
	return number, disk, err
}

func askDisks(t testing.TB, s Subject) (any, error) {
	if _, err := s.Attach(t, gib, 0); err != nil {
		return nil, err
	}
	ours, err := readDisks(s)
	if err != nil {
		return nil, err
	}
	theirs, err := storageDisks()
	return map[string]any{"control codes": ours, "MSFT_Disk": theirs}, err
}

// askNeeds writes down what ListDiskLocations is decided from, beside what Windows' own tools say.
func askNeeds(_ testing.TB, s Subject) (any, error) {
	answers := map[string]any{}
	for key, values := range map[string][]string{
		`SYSTEM\Setup`: {"SystemPartition"},
		`SYSTEM\CurrentControlSet\Control\Session Manager\Memory Management`: {"ExistingPageFiles", "PagingFiles"},
		`SYSTEM\CurrentControlSet\Control\CrashControl`:                      {"DedicatedDumpFile", "DumpFile"},
	} {
		for _, value := range values {
			texts, err := s.Kernel.RegistryStrings(key, value)
			answers[value] = fmt.Sprintf("%q %s", texts, verdict(err))
			for _, text := range texts {
				if device, ok := strings.CutPrefix(text, `\Device\`); ok {
					h, err := s.Kernel.OpenDevice(`\\?\GLOBALROOT\Device\`+device, 0)
					answers["opening "+text] = verdict(err)
					if err == nil {
						_ = h.Close()
					}
				}
			}
		}
	}
	paths, err := s.Kernel.AdapterInterfaces()
	if err != nil {
		return answers, err
	}
	for _, path := range paths {
		answers[path] = askAdapter(s, path)
	}
	ours, err := readDisks(s)
	answers["disks"] = ours
	if err != nil {
		return answers, err
	}
	answers["MSFT_Disk"], err = storageDisks()
	return answers, err
}

func askAdapter(s Subject, path string) string {
	h, err := s.Kernel.OpenDevice(path, 0)
	if err != nil {
		return verdict(err)
	}
	defer h.Close()
	out := make([]byte, 1024)
	n, err := h.DeviceIoControl(win32.IOCTL_STORAGE_QUERY_PROPERTY,
		win32.StoragePropertyQuery{PropertyID: win32.StorageAdapterProperty}.Bytes(), out)
	if err != nil {
		return verdict(err)
	}
	adapter, err := win32.ParseStorageAdapter(out[:n])
	return fmt.Sprintf("%+v %v", adapter, err)
}

func askReads(_ testing.TB, s Subject) (any, error) {
	disks, err := readDisks(s)
	return map[string]any{"architecture": runtime.GOARCH, "disks": disks}, err
}

func askFormatCom(t testing.TB, s Subject) (any, error) {
	d, err := s.Attach(t, gib, 0)
	if err != nil {
		return nil, err
	}
	p, err := partitioned(s, d)
	if err != nil {
		return nil, err
	}
	volume, err := volumeAt(s, d, p.StartingOffset)
	if err != nil {
		return nil, err
	}
	system, err := windows.GetSystemDirectory()
	if err != nil {
		return nil, err
	}
	answers := map[string]string{}
	for _, state := range []string{"raw", "formatted"} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		out, err := exec.CommandContext(ctx, filepath.Join(system, "format.com"), strings.TrimSuffix(volume, `\`), "/FS:NTFS",
			"/Q", "/Y", "/V:").CombinedOutput()
		cancel()
		answers[state] = fmt.Sprintf("%v: %s", err, out)
	}
	return answers, nil
}

// mountedBelow makes a directory with a mounted volume and a file in it.
func mountedBelow(t testing.TB, s Subject) (root, mount, volume string, err error) {
	d, err := s.Attach(t, gib, 0)
	if err != nil {
		return "", "", "", err
	}
	if volume, _, err = formatted(s, d); err != nil {
		return "", "", "", err
	}
	root = t.TempDir()
	mount = filepath.Join(root, "mount")
	if err := os.Mkdir(mount, 0o700); err != nil {
		return "", "", "", err
	}
	if err := s.Kernel.SetVolumeMountPoint(mount+`\`, volume); err != nil {
		return "", "", "", err
	}
	t.Cleanup(func() { _ = s.Kernel.DeleteVolumeMountPoint(mount + `\`) })
	return root, mount, volume, os.WriteFile(filepath.Join(mount, "file"), []byte("precious"), 0o600)
}

func askRoot(t testing.TB, s Subject) (any, error) {
	dir, _, _, err := mountedBelow(t, s)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	answers := map[string]string{}
	_, err = root.Stat("mount")
	answers["Stat of the mount point"] = fmt.Sprint(err)
	_, err = root.Lstat("mount")
	answers["Lstat of the mount point"] = fmt.Sprint(err)
	_, err = root.Stat(`mount\file`)
	answers["Stat below it"] = fmt.Sprint(err)
	answers["MkdirAll below it"] = fmt.Sprint(root.MkdirAll(`mount\a\b`, 0o700))
	answers["RemoveAll below it"] = fmt.Sprint(root.RemoveAll(`mount\a`))
	return answers, nil
}

func askRemoveAll(t testing.TB, s Subject) (any, error) {
	dir, mount, volume, err := mountedBelow(t, s)
	if err != nil {
		return nil, err
	}
	answers := map[string]string{"RemoveAll": fmt.Sprint(os.RemoveAll(dir))}
	_, err = os.ReadFile(volume + "file")
	answers["the volume's file"] = fmt.Sprint(err)
	paths, err := s.Kernel.VolumePathNames(volume)
	answers["the mount manager's record"] = fmt.Sprint(paths, err)
	if err := os.MkdirAll(mount, 0o700); err != nil {
		return answers, err
	}
	answers["mounting there again"] = verdict(s.Kernel.SetVolumeMountPoint(mount+`\`, volume))
	return answers, nil
}

func askBIOS(_ testing.TB, s Subject) (any, error) {
	table, err := s.Kernel.SystemFirmwareTable(kernel.ProviderSMBIOS, 0)
	if err != nil {
		return nil, err
	}
	smbios, err := win32.ParseSMBIOS(table)
	if err != nil {
		return nil, err
	}
	theirs, err := BIOSSerial()
	return map[string]string{"SMBIOS": smbios.SystemSerialNumber(), "Win32_BIOS": theirs}, err
}
