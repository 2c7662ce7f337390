// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"fmt"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/internal/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/win32"
)

// Exercise makes the kernel calls of which a machine has the objects anyway, to be recorded: sensible ones and those
// that must fail. It reads what the machine is, and changes nothing outside of an empty directory, C:\like\this. No
// answer is looked at: a replay compares them.
func Exercise(k kernel.Kernel, dir string) {
	e := exercise{k, `\\?\` + dir}
	e.machine()
	e.volumes(dir)
	e.devices()
	e.names()
	e.information()
	e.listing()
	e.sharing()
	e.deletion()
	e.renaming()
	e.links(dir)
}

type exercise struct {
	k   kernel.Kernel
	dir string // \\?\C:\like\this
}

const (
	everything = win32.FILE_SHARE_READ | win32.FILE_SHARE_WRITE | win32.FILE_SHARE_DELETE
	anyRight   = win32.FILE_LIST_DIRECTORY | win32.FILE_READ_ATTRIBUTES | win32.FILE_WRITE_ATTRIBUTES | win32.DELETE

	noVolume = `\\?\Volume{e0b5fbd2-0000-4000-8000-00000000d15c}\` // a random number, made for this
)

// open opens a file and returns its handle, nil if it does not open.
func (e exercise) open(dir kernel.Handle, name string, how kernel.OpenHow) kernel.Handle {
	h, err := e.k.OpenFile(dir, name, how)
	if err != nil {
		return nil
	}
	return h
}

// try opens a file and closes it.
func (e exercise) try(dir kernel.Handle, name string, how kernel.OpenHow) {
	shut(e.open(dir, name, how))
}

func shut(h kernel.Handle) {
	if h != nil {
		_ = h.Close()
	}
}

func as(access, disposition, options uint32) kernel.OpenHow {
	return kernel.OpenHow{Access: access, Share: everything, Disposition: disposition, Options: options}
}

// directory and file make one in an open directory and return it.
func (e exercise) directory(in kernel.Handle, name string) kernel.Handle {
	return e.open(in, name, as(anyRight|win32.FILE_ADD_FILE|win32.FILE_ADD_SUBDIRECTORY|win32.FILE_TRAVERSE,
		win32.FILE_OPEN_IF, win32.FILE_DIRECTORY_FILE))
}

func (e exercise) file(in kernel.Handle, name string) kernel.Handle {
	return e.open(in, name, as(anyRight, win32.FILE_OPEN_IF, win32.FILE_NON_DIRECTORY_FILE))
}

// root opens the directory.
func (e exercise) root() kernel.Handle {
	return e.open(nil, e.dir, as(anyRight&^win32.DELETE|win32.FILE_ADD_FILE|win32.FILE_ADD_SUBDIRECTORY|win32.FILE_TRAVERSE,
		win32.FILE_OPEN, win32.FILE_DIRECTORY_FILE))
}

// below makes a directory of its own for a part of the exercise.
func (e exercise) below(name string) (dir kernel.Handle, done func()) {
	root := e.root()
	dir = e.directory(root, name)
	return dir, func() { shut(dir); shut(root) }
}

func (e exercise) machine() {
	_, _ = e.k.SystemWindowsDirectory()
	for _, name := range []string{
		"SeCreateSymbolicLinkPrivilege", "SeLoadDriverPrivilege", "SeManageVolumePrivilege", "SeChangeNotifyPrivilege",
		"SeNoSuchThingPrivilege", "",
	} {
		_ = e.k.EnablePrivilege(name)
	}
	const control = `SYSTEM\CurrentControlSet\Control\`
	for _, value := range [][2]string{
		{`SYSTEM\Setup`, "SystemPartition"}, {control + `Session Manager\Memory Management`, "ExistingPageFiles"},
		{control + `Session Manager\Memory Management`, "PagingFiles"}, {control + "CrashControl", "DedicatedDumpFile"},
		{control + "CrashControl", "DumpFile"}, {`SYSTEM\Setup`, "NoSuchValue"}, {`SYSTEM\NoSuchKey`, "NoSuchValue"},
	} {
		_, _ = e.k.RegistryStrings(value[0], value[1])
	}
	_, _ = e.k.SystemFirmwareTable(kernel.ProviderSMBIOS, 0)
	_, _ = e.k.SystemFirmwareTable(0x4E4F4E45, 0) // nobody's
	for _, name := range []string{"EventLog", "eventLOG", "Spooler", "no-such-service", "Windows Event Log", "",
		`a\b`, "a/b", "a\x00b"} {
		_, _ = e.k.QueryService(name)
	}
	_, _ = e.k.DependentServices("no-such-service")
	_ = e.k.StartService("no-such-service")
	_ = e.k.StopService("no-such-service")
	_ = e.k.StartService("")
	_ = e.k.StopService(`a\b`)
	_ = e.k.StartService("EventLog") // it runs
}

func (e exercise) volumes(dir string) {
	_, _ = e.k.VolumeNames()
	c, _ := e.k.VolumeNameForMountPoint(`C:\`)
	for _, path := range []string{`\\?\C:\`, "C:", dir + `\`, dir, dir + `\missing\`,
		dir + `\missing\below\`, `Q:\`, noVolume, ""} {
		_, _ = e.k.VolumeNameForMountPoint(path)
	}
	for _, name := range []string{c, strings.ToUpper(c), strings.TrimSuffix(c, `\`), noVolume, `C:\`, ""} {
		_, _ = e.k.VolumePathNames(name)
	}
	for _, root := range []string{c, `C:\`, strings.TrimSuffix(c, `\`), "C:", dir + `\`, noVolume, `Q:\`, ""} {
		_, _ = e.k.VolumeInformation(root)
	}
	for _, root := range []string{c, `C:\`, dir, dir + `\`, dir + `\missing`, noVolume, `Q:\`} {
		_, _, _ = e.k.DiskFreeSpace(root)
	}
	_ = e.k.SetVolumeMountPoint(dir+`\missing\`, noVolume)
	_ = e.k.SetVolumeMountPoint(dir+`\`, noVolume)
	_ = e.k.DeleteVolumeMountPoint(dir + `\missing\`)
	_ = e.k.DeleteVolumeMountPoint(dir + `\`)
}

// devices asks about disk 0 and the volume of drive C what needs no right to read.
func (e exercise) devices() {
	_, _ = e.k.DiskInterfaces()
	_, _ = e.k.AdapterInterfaces()
	c, _ := e.k.VolumeNameForMountPoint(`C:\`)
	for _, path := range []string{`\\.\PhysicalDrive0`, strings.TrimSuffix(c, `\`), `\\.\C:`} {
		h, err := e.k.OpenDevice(path, 0)
		if err != nil {
			continue
		}
		e.ask(h)
		_ = h.Close()
		_, _ = h.DeviceIoControl(win32.IOCTL_STORAGE_GET_DEVICE_NUMBER, nil, make([]byte, 12)) // closed
	}
	for _, path := range []string{
		`\\.\PhysicalDrive254`, strings.TrimSuffix(noVolume, `\`), `\\.\Q:`, `\\?\GLOBALROOT\Device\HarddiskVolume999`,
		`\\.\NoSuchDevice`, `\\.\`, "",
	} {
		if h, err := e.k.OpenDevice(path, 0); err == nil {
			_ = h.Close()
		}
	}
}

func (e exercise) ask(h kernel.Handle) {
	const room = 1024
	for _, code := range []uint32{
		win32.IOCTL_STORAGE_GET_DEVICE_NUMBER, win32.IOCTL_SCSI_GET_ADDRESS, win32.IOCTL_DISK_GET_DRIVE_GEOMETRY_EX,
		win32.IOCTL_DISK_GET_LENGTH_INFO, win32.IOCTL_DISK_GET_DISK_ATTRIBUTES, win32.IOCTL_DISK_IS_WRITABLE,
		win32.IOCTL_VOLUME_GET_VOLUME_DISK_EXTENTS, win32.IOCTL_VOLUME_IS_OFFLINE, win32.FSCTL_IS_VOLUME_MOUNTED,
		win32.FSCTL_GET_NTFS_VOLUME_DATA, 0x00072FFC, // nobody's
	} {
		for _, size := range []int{room, 8, 4, 0} {
			_, _ = h.DeviceIoControl(code, nil, make([]byte, size))
		}
	}
	_, _ = h.DeviceIoControl(win32.IOCTL_DISK_GET_DRIVE_LAYOUT_EX, nil, make([]byte, win32.SizeofDriveLayout(128)))
	_, _ = h.DeviceIoControl(win32.IOCTL_DISK_GET_DRIVE_LAYOUT_EX, nil, make([]byte, 8))
	for _, property := range []uint32{win32.StorageDeviceProperty, win32.StorageAdapterProperty,
		win32.StorageDeviceIdProperty, win32.StorageDeviceUniqueIdProperty, 999} {
		in := win32.StoragePropertyQuery{PropertyID: property}.Bytes()
		for _, size := range []int{room, 8, 4, 0} {
			_, _ = h.DeviceIoControl(win32.IOCTL_STORAGE_QUERY_PROPERTY, in, make([]byte, size))
		}
		_, _ = h.DeviceIoControl(win32.IOCTL_STORAGE_QUERY_PROPERTY,
			win32.StoragePropertyQuery{PropertyID: property, QueryType: win32.PropertyExistsQuery}.Bytes(), nil)
	}
	_, _ = h.DeviceIoControl(win32.IOCTL_STORAGE_QUERY_PROPERTY, nil, make([]byte, room))
	_, _ = h.ReadAt(make([]byte, 512), 0) // without the right to
	_ = h.Flush()
	_, _ = h.FinalPath(win32.VOLUME_NAME_DOS)
	_ = h.Information(win32.FileStandardInfo, make([]byte, 24))
	_ = h.SetInformation(win32.FileDispositionInfo, win32.FileDisposition(false))
}

func (e exercise) names() {
	dir, done := e.below("names")
	defer done()
	if dir == nil {
		return // there is no directory to work in
	}
	shut(e.directory(dir, "Sub"))
	sub := e.directory(dir, "SUB")
	defer shut(sub)
	shut(e.file(sub, "file.txt"))
	look := as(win32.FILE_READ_ATTRIBUTES, win32.FILE_OPEN, 0)
	for _, name := range []string{
		"sub", "SUB", "missing", "Sub ", "Sub.", "CON", "nul", ".", "..", "S*", "S?b", `"`, "<", ">", "|", "",
		`Sub\file.txt`, "Sub/file.txt",
		"file:stream", "Sub\x00", "a\x01b", strings.Repeat("n", 255), strings.Repeat("n", 256), strings.Repeat("ü", 255),
		strings.Repeat("😀", 128), "SUB~1",
	} {
		e.try(dir, name, look)
		if name != "missing" {
			e.try(dir, name, as(win32.FILE_READ_ATTRIBUTES|win32.DELETE, win32.FILE_OPEN, win32.FILE_OPEN_REPARSE_POINT))
		}
	}
	// the last but one is a Kelvin sign
	for _, name := range []string{"Füße", "FÜSSE", "füße", "ÉÑ", "éñ", "İ", "i", "Ǆ", "ǆ", "ǅ", "😀", "K", "k"} {
		shut(e.directory(dir, name))
		e.try(dir, name, look)
	}
	for _, options := range []uint32{0, win32.FILE_DIRECTORY_FILE, win32.FILE_NON_DIRECTORY_FILE,
		win32.FILE_DIRECTORY_FILE | win32.FILE_NON_DIRECTORY_FILE} {
		for _, disposition := range []uint32{win32.FILE_OPEN, win32.FILE_CREATE, win32.FILE_OPEN_IF} {
			e.try(dir, "Sub", as(win32.FILE_READ_ATTRIBUTES, disposition, options))
			e.try(sub, "FILE.txt", as(win32.FILE_READ_ATTRIBUTES, disposition, options))
			e.try(dir, fmt.Sprintf("new %d %d", options, disposition), as(win32.FILE_READ_ATTRIBUTES, disposition, options))
		}
	}
	e.try(dir, "Sub", as(win32.FILE_READ_ATTRIBUTES, 99, 0))
	file := e.open(sub, "file.txt", look)
	defer shut(file)
	if file != nil {
		e.try(file, "below", look)
	}
	in := e.dir + `\names`
	for _, path := range []string{
		in, in + `\`, in + `\Sub\`, in + `\sub\file.txt`, in + `\sub\file.txt\`, in + `\Sub\file.txt\below`,
		in + `\missing\name`, in + `\missing`,
		in + `\Sub\..\Sub`, in + `\.`, in + `\\Sub`, in + "/Sub", in + ` `, `\\?\C:\`, `\\?\C:`, `\\?\Q:\`, `\\?\Q:\x`,
		`\\?\`, `C:\`, "", strings.TrimPrefix(in, `\\?\`),
		noVolume, noVolume + "x", `\Device\NoSuchDevice\x`,
	} {
		e.try(nil, path, look)
		e.try(nil, path, as(win32.FILE_READ_ATTRIBUTES, win32.FILE_OPEN, win32.FILE_DIRECTORY_FILE))
	}
	refuse := look
	refuse.NoReparse = true
	e.try(nil, in, refuse)
	e.try(dir, "Sub", refuse)
	c, _ := e.k.VolumeNameForMountPoint(`C:\`)
	e.try(nil, c, look)
	e.try(nil, c+strings.TrimPrefix(in, `\\?\C:\`), look)
	if native, err := dir.FinalPath(win32.VOLUME_NAME_NT); err == nil {
		e.try(nil, native, look)
		e.try(nil, native, refuse)
	}
}

func (e exercise) information() {
	dir, done := e.below("information")
	defer done()
	shut(e.directory(dir, "Sub"))
	shut(e.file(dir, "file.txt"))
	for _, name := range []string{"Sub", "file.txt"} {
		for _, access := range []uint32{anyRight, win32.FILE_READ_ATTRIBUTES, win32.DELETE, win32.FILE_LIST_DIRECTORY} {
			h := e.open(dir, name, as(access, win32.FILE_OPEN, 0))
			if h == nil {
				continue
			}
			for _, class := range []struct {
				number uint32
				size   int
			}{{win32.FileStandardInfo, 24}, {win32.FileAttributeTagInfo, 8}, {win32.FileIdInfo, 24}, {99, 64}} {
				for _, size := range []int{class.size, class.size - 1, class.size + 8} {
					_ = h.Information(class.number, make([]byte, size))
				}
				_ = h.SetInformation(class.number, make([]byte, class.size))
			}
			for form := range uint32(4) {
				_, _ = h.FinalPath(form)
			}
			_ = h.Flush()
			_, _ = h.DeviceIoControl(win32.FSCTL_GET_REPARSE_POINT, nil, make([]byte, 1024))
			_, _ = h.DeviceIoControl(win32.IOCTL_STORAGE_GET_DEVICE_NUMBER, nil, make([]byte, 12))
			_ = h.Close()
		}
	}
	h := e.open(dir, "file.txt", as(win32.FILE_WRITE_DATA, win32.FILE_OPEN, 0))
	if h != nil {
		_ = h.Flush()
		_ = h.Close()
		_ = h.Information(win32.FileStandardInfo, make([]byte, 24)) // closed
		_ = h.Flush()
		_, _ = h.FinalPath(0)
	}
}

func (e exercise) listing() {
	dir, done := e.below("listing")
	defer done()
	for i := range 20 {
		shut(e.directory(dir, strings.Repeat(string(rune('z'-i)), 10+i)))
	}
	shut(e.file(dir, "Zebra.txt"))
	shut(e.file(dir, "apple.txt"))
	list := func(access uint32, size int, class uint32) {
		root := e.root()
		defer shut(root)
		h := e.open(root, "listing", as(access, win32.FILE_OPEN, win32.FILE_DIRECTORY_FILE))
		if h == nil {
			return
		}
		defer shut(h)
		for range 40 {
			if h.Information(class, make([]byte, size)) != nil {
				break
			}
			class = win32.FileFullDirectoryInfo
		}
	}
	list(anyRight, 64<<10, win32.FileFullDirectoryInfo)
	list(anyRight, 64<<10, win32.FileFullDirectoryRestartInfo)
	list(anyRight, 1024, win32.FileFullDirectoryInfo)
	list(anyRight, 60, win32.FileFullDirectoryInfo)
	list(win32.FILE_READ_ATTRIBUTES, 1024, win32.FileFullDirectoryInfo)
	file := e.open(dir, "apple.txt", as(anyRight, win32.FILE_OPEN, 0))
	if file != nil {
		_ = file.Information(win32.FileFullDirectoryInfo, make([]byte, 1024))
		_ = file.Close()
	}
	empty := e.directory(dir, "empty")
	if empty != nil {
		_ = empty.Information(win32.FileFullDirectoryInfo, make([]byte, 1024))
		_ = empty.Information(win32.FileFullDirectoryInfo, make([]byte, 1024))
		_ = empty.Information(win32.FileFullDirectoryRestartInfo, make([]byte, 1024))
		_ = empty.Close()
	}
}

// sharing opens a file twice, with each right and each way to share.
func (e exercise) sharing() {
	dir, done := e.below("sharing")
	defer done()
	shut(e.file(dir, "file"))
	shut(e.directory(dir, "Sub"))
	rights := []uint32{win32.FILE_READ_ATTRIBUTES, win32.FILE_READ_DATA, win32.FILE_WRITE_DATA, win32.DELETE}
	shares := []uint32{0, win32.FILE_SHARE_READ, win32.FILE_SHARE_WRITE, win32.FILE_SHARE_DELETE, everything}
	for _, name := range []string{"file", "Sub"} {
		for _, a := range rights {
			for _, share := range shares {
				first := e.open(dir, name, kernel.OpenHow{Access: a, Share: share, Disposition: win32.FILE_OPEN})
				for _, b := range rights {
					for _, other := range shares {
						e.try(dir, name, kernel.OpenHow{Access: b, Share: other, Disposition: win32.FILE_OPEN})
					}
				}
				shut(first)
			}
		}
	}
}

func (e exercise) deletion() {
	dir, done := e.below("deletion")
	defer done()
	const posix = win32.FILE_DISPOSITION_FLAG_DELETE | win32.FILE_DISPOSITION_FLAG_POSIX_SEMANTICS
	look := as(win32.FILE_READ_ATTRIBUTES, win32.FILE_OPEN, 0)
	for way, remove := range []func(h kernel.Handle) error{
		func(h kernel.Handle) error {
			return h.SetInformation(win32.FileDispositionInfo, win32.FileDisposition(true))
		},
		func(h kernel.Handle) error {
			return h.SetInformation(win32.FileDispositionInfoEx, win32.FileDispositionEx(posix))
		},
		func(h kernel.Handle) error {
			return h.SetInformation(win32.FileDispositionInfoEx,
				win32.FileDispositionEx(posix|win32.FILE_DISPOSITION_FLAG_IGNORE_READONLY_ATTRIBUTE))
		},
		func(h kernel.Handle) error {
			return h.SetInformation(win32.FileDispositionInfoEx, win32.FileDispositionEx(0))
		},
	} {
		for kind, make := range []func(in kernel.Handle, name string) kernel.Handle{e.file, e.directory} {
			name := fmt.Sprintf("gone %d %d", way, kind)
			shut(make(dir, name))
			h := e.open(dir, name, as(win32.FILE_READ_ATTRIBUTES, win32.FILE_OPEN, 0))
			if h == nil {
				continue
			}
			_ = remove(h) // without the right to
			_ = h.Close()
			h = e.open(dir, name, as(anyRight, win32.FILE_OPEN, 0))
			other := e.open(dir, name, look)
			_ = remove(h)
			_ = h.Information(win32.FileStandardInfo, zeros(24))
			_ = remove(h)
			e.try(dir, name, look)
			shut(h)
			e.try(dir, name, look)
			shut(make(dir, name))
			shut(other)
			e.try(dir, name, look)
		}
	}
	// Full, read-only, and changed one's mind.
	full := e.directory(dir, "full")
	if full == nil {
		return
	}
	shut(e.file(full, "file"))
	_ = full.SetInformation(win32.FileDispositionInfo, win32.FileDisposition(true))
	_ = full.SetInformation(win32.FileDispositionInfoEx, win32.FileDispositionEx(posix))
	_ = full.SetInformation(win32.FileDispositionInfoEx, nil)
	_ = full.SetInformation(win32.FileDispositionInfo, nil)
	shut(full)
	file := e.file(dir, "read-only")
	if file == nil {
		return
	}
	defer shut(file)
	_ = file.SetInformation(win32.FileBasicInfo, win32.FileBasic{Attributes: win32.FILE_ATTRIBUTE_READONLY}.Bytes())
	_ = file.Information(win32.FileAttributeTagInfo, zeros(8))
	_ = file.SetInformation(win32.FileDispositionInfo, win32.FileDisposition(true))
	_ = file.SetInformation(win32.FileDispositionInfoEx, win32.FileDispositionEx(posix))
	e.try(dir, "read-only", as(win32.FILE_WRITE_DATA, win32.FILE_OPEN, 0))
	e.try(dir, "read-only", as(win32.DELETE, win32.FILE_OPEN, 0))
	_ = file.SetInformation(win32.FileBasicInfo, win32.FileBasic{Attributes: win32.FILE_ATTRIBUTE_NORMAL}.Bytes())
	_ = file.SetInformation(win32.FileDispositionInfo, win32.FileDisposition(true))
	e.try(dir, "read-only", look)
	_ = file.SetInformation(win32.FileDispositionInfo, win32.FileDisposition(false))
	e.try(dir, "read-only", look)
}

func zeros(n int) []byte { return make([]byte, n) }

func (e exercise) renaming() {
	dir, done := e.below("renaming")
	defer done()
	sub, to := e.directory(dir, "Sub"), e.directory(dir, "To")
	defer shut(to)
	file := e.file(sub, "file")
	if sub == nil || file == nil || to == nil {
		return
	}
	shut(e.file(to, "taken"))
	for _, name := range []string{"taken", "TAKEN", `a\b`, "", ".", "..", "a*b",
		strings.Repeat("n", 256), "moved", "Moved"} {
		_ = file.Rename(to, name)
	}
	_, _ = file.FinalPath(win32.VOLUME_NAME_DOS)
	_ = sub.Rename(to, "below") // something was open below
	_ = file.Rename(file, "x")  // not a directory
	shut(file)
	_ = sub.Rename(sub, "itself")
	_ = sub.Rename(to, "Sub2")
	_, _ = sub.FinalPath(win32.VOLUME_NAME_DOS)
	shut(sub)
	e.try(dir, "Sub", as(win32.FILE_READ_ATTRIBUTES, win32.FILE_OPEN, 0))
	e.try(to, "SUB2", as(win32.FILE_READ_ATTRIBUTES, win32.FILE_OPEN, 0))
	h := e.open(to, "moved", as(win32.FILE_READ_ATTRIBUTES, win32.FILE_OPEN, 0))
	if h != nil {
		_ = h.Rename(dir, "without the right")
		_ = h.Close()
	}
	above, held := e.directory(dir, "above"), e.file(to, "held")
	shut(above)
	above = e.open(dir, "To", as(anyRight, win32.FILE_OPEN, 0))
	if above != nil {
		_ = above.Rename(dir, "To2") // a file is open in it
		shut(held)
		_ = above.Close()
	}
}

// links makes a directory a link and a plain one again. No link leads out of the directory.
func (e exercise) links(dir string) {
	in, done := e.below("links")
	defer done()
	shut(e.directory(in, "target"))
	target := `\??\` + dir + `\links\target`
	for _, tag := range []uint32{win32.IO_REPARSE_TAG_MOUNT_POINT, win32.IO_REPARSE_TAG_SYMLINK} {
		name := fmt.Sprintf("link %x", tag)
		h := e.directory(in, name)
		if h == nil {
			continue
		}
		set := func(p win32.ReparsePoint) { _, _ = h.DeviceIoControl(win32.FSCTL_SET_REPARSE_POINT, p.Bytes(), nil) }
		_, _ = h.DeviceIoControl(win32.FSCTL_DELETE_REPARSE_POINT, win32.DeleteReparsePoint(tag), nil) // it is none
		_, _ = h.DeviceIoControl(win32.FSCTL_SET_REPARSE_POINT, []byte{1, 2, 3}, nil)
		set(win32.ReparsePoint{Tag: tag, SubstituteName: target, PrintName: target[4:]})
		_, _ = h.DeviceIoControl(win32.FSCTL_GET_REPARSE_POINT, nil, make([]byte, 1024))
		_, _ = h.DeviceIoControl(win32.FSCTL_GET_REPARSE_POINT, nil, make([]byte, 16))
		_, _ = h.DeviceIoControl(win32.FSCTL_GET_REPARSE_POINT, nil, make([]byte, 4))
		_ = h.Information(win32.FileAttributeTagInfo, zeros(8))
		e.try(in, name, as(win32.FILE_READ_ATTRIBUTES, win32.FILE_OPEN, 0))
		e.try(in, name, as(win32.FILE_READ_ATTRIBUTES, win32.FILE_OPEN, win32.FILE_OPEN_REPARSE_POINT))
		e.try(h, "below", as(win32.FILE_READ_ATTRIBUTES, win32.FILE_OPEN, 0))
		refuse := as(win32.FILE_READ_ATTRIBUTES, win32.FILE_OPEN, 0)
		refuse.NoReparse = true
		e.try(in, name, refuse)
		_, _ = h.DeviceIoControl(win32.FSCTL_DELETE_REPARSE_POINT, win32.DeleteReparsePoint(0xA0000099), nil) // another tag
		_, _ = h.DeviceIoControl(win32.FSCTL_DELETE_REPARSE_POINT, win32.DeleteReparsePoint(tag), nil)
		_ = h.Information(win32.FileAttributeTagInfo, zeros(8))
		_ = h.Close()
		look := e.open(in, name, as(win32.FILE_READ_ATTRIBUTES, win32.FILE_OPEN, 0))
		if look != nil { // without the right to change it
			_, _ = look.DeviceIoControl(win32.FSCTL_SET_REPARSE_POINT,
				win32.ReparsePoint{Tag: tag, SubstituteName: target}.Bytes(), nil)
			_ = look.Close()
		}
	}
}
