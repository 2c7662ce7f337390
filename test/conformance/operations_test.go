// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"google.golang.org/protobuf/reflect/protoreflect"
)

// The operations, as all scenarios call them.

// location is where a disk is attached.
type location struct{ Adapter, Bus, Target, LUN string }

func (d *driver) listDiskLocations() (map[uint32]location, error) {
	d.t.Helper()
	r, err := d.call("ListDiskLocations", nil)
	if err != nil {
		return nil, err
	}
	found := map[uint32]location{}
	r.get(locations).Map().Range(func(key protoreflect.MapKey, v protoreflect.Value) bool {
		text := func(field protoreflect.Name) string {
			return v.Message().Get(v.Message().Descriptor().Fields().ByName(field)).String()
		}
		found[diskNumber(d.t, key.String())] = location{text("Adapter"), text("Bus"), text("Target"), text("LUNID")}
		return true
	})
	return found, nil
}

// diskIDs are the identifiers of a disk.
type diskIDs struct{ Page83, SerialNumber string }

func (d *driver) listDiskIDs() (map[uint32]diskIDs, error) {
	d.t.Helper()
	r, err := d.call("ListDiskIDs", nil)
	if err != nil {
		return nil, err
	}
	found := map[uint32]diskIDs{}
	r.get(ids).Map().Range(func(key protoreflect.MapKey, v protoreflect.Value) bool {
		fields := v.Message().Descriptor().Fields()
		of := diskIDs{}
		if identifiers := fields.ByName("identifiers"); identifiers != nil { // a map until v1beta2
			of.Page83 = v.Message().Get(identifiers).Map().Get(protoreflect.ValueOfString("page83").MapKey()).String()
			of.SerialNumber = v.Message().Get(identifiers).Map().Get(
				protoreflect.ValueOfString("serialNumber").MapKey()).String()
		} else {
			of.Page83 = v.Message().Get(fields.ByName("page83")).String()
			of.SerialNumber = v.Message().Get(fields.ByName("serial_number")).String()
		}
		found[diskNumber(d.t, key.String())] = of
		return true
	})
	return found, nil
}

// ask calls an operation that answers with one value.
func ask[T any](d *driver, operation string, v values, what meaning) (answer T, err error) {
	d.t.Helper()
	r, err := d.call(operation, v)
	if err != nil {
		return answer, err
	}
	return r.get(what).Interface().(T), nil
}

func (d *driver) rescan() error { d.t.Helper(); return d.do("Rescan", nil) }

func (d *driver) partitionDisk(number uint32) error {
	d.t.Helper()
	return d.do("PartitionDisk", values{disk: number})
}

func (d *driver) diskNumberByName(name string) (uint32, error) {
	d.t.Helper()
	text, err := ask[string](d, "GetDiskNumberByName", values{diskName: name}, disk)
	if err != nil {
		return 0, err
	}
	return diskNumber(d.t, text), nil
}

func (d *driver) diskSize(number uint32) (int64, error) {
	d.t.Helper()
	return ask[int64](d, "GetDiskStats", values{disk: number}, total)
}

func (d *driver) setOnline(number uint32, to bool) error {
	d.t.Helper()
	return d.do("SetDiskState", values{disk: number, online: to})
}

func (d *driver) isOnline(number uint32) (bool, error) {
	d.t.Helper()
	return ask[bool](d, "GetDiskState", values{disk: number}, online)
}

func (d *driver) exists(at string) (bool, error) {
	d.t.Helper()
	return ask[bool](d, "PathExists", values{path: at}, exists)
}

func (d *driver) mkdir(at string) error { d.t.Helper(); return d.do("Mkdir", values{path: at}) }

func (d *driver) rmdir(at string, byForce bool) error {
	d.t.Helper()
	return d.do("Rmdir", values{path: at, force: byForce})
}

func (d *driver) rmdirContents(at string) error {
	d.t.Helper()
	return d.do("RmdirContents", values{path: at})
}

func (d *driver) link(from, to string) error {
	d.t.Helper()
	return d.do("CreateSymlink", values{source: to, path: from})
}

func (d *driver) isSymlink(at string) (bool, error) {
	d.t.Helper()
	return ask[bool](d, "IsSymlink", values{path: at}, symlink)
}

func (d *driver) volumesOn(number uint32) ([]string, error) {
	d.t.Helper()
	return d.listVolumes(values{disk: number})
}

func (d *driver) listVolumes(v values) ([]string, error) {
	d.t.Helper()
	list, err := ask[protoreflect.List](d, "ListVolumesOnDisk", v, volumes)
	if err != nil {
		return nil, err
	}
	var found []string
	for i := range list.Len() {
		found = append(found, list.Get(i).String())
	}
	return found, nil
}

func (d *driver) mount(id, at string) error {
	d.t.Helper()
	return d.do("MountVolume", values{volume: id, path: at})
}

func (d *driver) unmount(id, at string) error {
	d.t.Helper()
	return d.do("UnmountVolume", values{volume: id, path: at})
}

func (d *driver) isFormatted(id string) (bool, error) {
	d.t.Helper()
	return ask[bool](d, "IsVolumeFormatted", values{volume: id}, formatted)
}

func (d *driver) format(id string) error {
	d.t.Helper()
	return d.do("FormatVolume", values{volume: id})
}

func (d *driver) resize(id string, to int64) error {
	d.t.Helper()
	return d.do("ResizeVolume", values{volume: id, size: to})
}

// stats are the sizes of a volume.
type stats struct{ Total, Used int64 }

func (d *driver) volumeStats(id string) (stats, error) {
	d.t.Helper()
	r, err := d.call("GetVolumeStats", values{volume: id})
	if err != nil {
		return stats{}, err
	}
	return stats{r.get(total).Int(), r.get(used).Int()}, nil
}

// diskOf returns the number of a volume's disk, which is signed in old versions.
func (d *driver) diskOf(id string) (uint32, error) {
	d.t.Helper()
	r, err := d.call("GetDiskNumberFromVolumeID", values{volume: id})
	if err != nil {
		return 0, err
	}
	return diskNumber(d.t, r.get(disk).String()), nil
}

func (d *driver) volumeAt(at string) (string, error) {
	d.t.Helper()
	return ask[string](d, "GetVolumeIDFromTargetPath", values{path: at}, volume)
}

func (d *driver) closestVolume(at string) (string, error) {
	d.t.Helper()
	return ask[string](d, "GetClosestVolumeIDFromTargetPath", values{path: at}, volume)
}

func (d *driver) flush(id string) error {
	d.t.Helper()
	return d.do("WriteVolumeCache", values{volume: id})
}
