// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"google.golang.org/protobuf/reflect/protoreflect"
)

// The operations, as all lives call them.

// Those that change something return their error; those that answer end the test at one, and fails is for theirs.

// location is where a disk is attached.
type location struct{ Adapter, Bus, Target, LUN string }

func (d *driver) listDiskLocations() map[uint32]location {
	d.t.Helper()
	found := map[uint32]location{}
	d.must("ListDiskLocations", nil).get(locations).Map().Range(func(key protoreflect.MapKey, v protoreflect.Value) bool {
		text := func(field protoreflect.Name) string {
			return v.Message().Get(v.Message().Descriptor().Fields().ByName(field)).String()
		}
		found[diskNumber(d.t, key.String())] = location{text("Adapter"), text("Bus"), text("Target"), text("LUNID")}
		return true
	})
	return found
}

// diskIDs are the identifiers of a disk.
type diskIDs struct{ Page83, SerialNumber string }

func (d *driver) listDiskIDs() map[uint32]diskIDs {
	d.t.Helper()
	found := map[uint32]diskIDs{}
	d.must("ListDiskIDs", nil).get(ids).Map().Range(func(key protoreflect.MapKey, v protoreflect.Value) bool {
		fields := v.Message().Descriptor().Fields()
		of := diskIDs{}
		if identifiers := fields.ByName("identifiers"); identifiers != nil { // a map until v1beta2
			all := v.Message().Get(identifiers).Map()
			of.Page83 = all.Get(protoreflect.ValueOfString("page83").MapKey()).String()
			of.SerialNumber = all.Get(protoreflect.ValueOfString("serialNumber").MapKey()).String()
		} else {
			of.Page83 = v.Message().Get(fields.ByName("page83")).String()
			of.SerialNumber = v.Message().Get(fields.ByName("serial_number")).String()
		}
		found[diskNumber(d.t, key.String())] = of
		return true
	})
	return found
}

// ask calls an operation that answers with one value.
func ask[T any](d *driver, operation string, v values, what meaning) T {
	d.t.Helper()
	return d.must(operation, v).get(what).Interface().(T)
}

// texts calls an operation that answers with a list.
func (d *driver) texts(operation string, v values, what meaning) (found []string) {
	d.t.Helper()
	list := ask[protoreflect.List](d, operation, v, what)
	for i := range list.Len() {
		found = append(found, list.Get(i).String())
	}
	return found
}

func (d *driver) rescan() error { d.t.Helper(); return d.do("Rescan", nil) }

func (d *driver) partitionDisk(number uint32) error {
	d.t.Helper()
	return d.do("PartitionDisk", values{disk: number})
}

func (d *driver) diskNumberByName(name string) uint32 {
	d.t.Helper()
	return diskNumber(d.t, ask[string](d, "GetDiskNumberByName", values{diskName: name}, disk))
}

func (d *driver) diskSize(number uint32) int64 {
	d.t.Helper()
	return ask[int64](d, "GetDiskStats", values{disk: number}, total)
}

func (d *driver) setOnline(number uint32, to bool) error {
	d.t.Helper()
	return d.do("SetDiskState", values{disk: number, online: to})
}

func (d *driver) isOnline(number uint32) bool {
	d.t.Helper()
	return ask[bool](d, "GetDiskState", values{disk: number}, online)
}

func (d *driver) exists(at string) bool {
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

func (d *driver) isSymlink(at string) bool {
	d.t.Helper()
	return ask[bool](d, "IsSymlink", values{path: at}, symlink)
}

func (d *driver) volumesOn(number uint32) []string {
	d.t.Helper()
	return d.texts("ListVolumesOnDisk", values{disk: number}, volumes)
}

func (d *driver) mount(id, at string) error {
	d.t.Helper()
	return d.do("MountVolume", values{volume: id, path: at})
}

func (d *driver) unmount(id, at string) error {
	d.t.Helper()
	return d.do("UnmountVolume", values{volume: id, path: at})
}

func (d *driver) isFormatted(id string) bool {
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

func (d *driver) volumeStats(id string) stats {
	d.t.Helper()
	r := d.must("GetVolumeStats", values{volume: id})
	return stats{r.get(total).Int(), r.get(used).Int()}
}

// diskOf returns the number of a volume's disk, which is signed in old versions.
func (d *driver) diskOf(id string) uint32 {
	d.t.Helper()
	return diskNumber(d.t, d.must("GetDiskNumberFromVolumeID", values{volume: id}).get(disk).String())
}

func (d *driver) volumeAt(at string) string {
	d.t.Helper()
	return ask[string](d, "GetVolumeIDFromTargetPath", values{path: at}, volume)
}

func (d *driver) closestVolume(at string) string {
	d.t.Helper()
	return ask[string](d, "GetClosestVolumeIDFromTargetPath", values{path: at}, volume)
}

func (d *driver) flush(id string) error {
	d.t.Helper()
	return d.do("WriteVolumeCache", values{volume: id})
}
