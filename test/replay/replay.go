// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"fmt"
	"strings"
	"time"

	"github.com/kubernetes-csi/csi-proxy/internal/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/kernel/emulated"
	"github.com/kubernetes-csi/csi-proxy/internal/recording"
	"github.com/kubernetes-csi/csi-proxy/internal/win32"
)

// replay is a recording that is being replayed.
type replay struct {
	recording recording.Recording
	situation *situation
	node      *emulated.Node
	kernel    kernel.Kernel     // the node, as the calls reach it
	system    uint32            // the recorded number of the system disk
	numbers   map[uint32]uint32 // the node's numbers of the recorded disks
	pulled    map[uint32]string // images of disks that were detached
	names     *names
	files     *files
	handles   map[uint64]kernel.Handle // by the recorded number
	lost      map[uint64]string        // recorded handles that the node has none for, and why
	report    *Report
}

// Replay makes the calls of a recording on an emulated node in a directory. Around may change the node's answers, as a
// test does to see that it is noticed; nil does not.
func Replay(r recording.Recording, stateDir string, around func(kernel.Kernel) kernel.Kernel) (*Report, error) {
	p := &replay{
		recording: r, situation: situate(r.Calls), numbers: map[uint32]uint32{},
		pulled: map[uint32]string{}, names: newNames(),
		handles: map[uint64]kernel.Handle{}, lost: map[uint64]string{},
		report: &Report{Header: r.Header, Calls: len(r.Calls), Kinds: map[string]*Tally{}, First: map[Difference]string{}},
	}
	if err := p.begin(stateDir, around); err != nil {
		return nil, err
	}
	defer func() { _ = p.node.Close() }()
	for i := range r.Calls {
		c := &r.Calls[i]
		if err := p.step(i, c); err != nil {
			return nil, fmt.Errorf("the situation of call %d, %s %s: %w", c.Sequence, c.Function, c.Object, err)
		}
	}
	for _, h := range p.handles {
		_ = h.Close()
	}
	return p.report, nil
}

// begin makes the node in the situation of the first call.
func (r *replay) begin(stateDir string, around func(kernel.Kernel) kernel.Kernel) error {
	r.system = r.situation.systemNumber()
	listed := -1 // the first call that lists the disks
	for i, c := range r.recording.Calls {
		if c.Function == "DiskInterfaces" && c.Succeeded() {
			listed = i
			break
		}
	}
	later := func(d *recordedDisk) bool { return listed >= 0 && d.first > listed }
	scenario := r.situation.scenario(r.system, later)
	var err error
	if r.node, err = emulated.Open(stateDir, emulated.Options{Scenario: &scenario, NoSync: true}); err != nil {
		return err
	}
	r.kernel = r.node
	if around != nil {
		r.kernel = around(r.node)
	}
	r.files = newFiles(r.recording.Calls, r.node, r.names)
	next := uint32(1)
	for _, d := range r.situation.disks {
		number := uint32(0)
		if d.number != r.system {
			if later(d) {
				continue
			}
			number = next
			next++
		}
		if err := r.identify(d, number); err != nil {
			return err
		}
		if err := r.lay(d); err != nil {
			return err
		}
	}
	if r.situation.systemC == "" {
		return nil
	}
	c, err := r.node.VolumeNameForMountPoint(`C:\`)
	r.names.pair(r.situation.systemC, volumeIn.FindString(c))
	return err
}

// step replays a call.
func (r *replay) step(i int, c *recording.Call) error {
	if err := r.change(i, c); err != nil {
		return err
	}
	if err := r.files.before(i, c); err != nil {
		return err
	}
	defer r.files.after(c)
	if err := r.findVolumes(c.Object); err != nil {
		return err
	}
	if err := r.findVolumes(c.Argument); err != nil {
		return err
	}
	if reason := r.beyond(c); reason != "" {
		if c.Opens() {
			r.lost[c.Sequence] = reason
		}
		if c.Function != "Close" {
			r.report.never(c, reason)
		}
		return nil
	}
	a := r.call(c)
	if c.Function == "Close" {
		return nil
	}
	r.report.compared(c, r.compare(c, a))
	return nil
}

// beyond returns why a call cannot be compared, "" if it can.
func (r *replay) beyond(c *recording.Call) string {
	for _, h := range []uint64{c.Handle, c.Directory} {
		if reason := r.lost[h]; reason != "" {
			return reason
		}
	}
	switch {
	case strings.Contains(c.Function, "ISCSI"):
		return "the replay makes no iSCSI targets"
	case c.Cut > 0:
		return "the recording does not have all of it"
	}
	for _, text := range []string{c.Object, c.Argument} {
		if name, unknown := r.names.unknownVolume(text); unknown &&
			(c.Succeeded() || r.situation.volumes[name] != (win32.DiskExtent{})) {
			return "a volume that the replay does not make"
		}
	}
	return ""
}

// answer is what the node answered.
type answer struct {
	err    error
	out    []byte
	n      int
	result any
}

// call makes a call.
func (r *replay) call(c *recording.Call) (a answer) {
	object, argument := r.names.translate(c.Object), r.names.translate(c.Argument)
	k := r.kernel
	number := func(i int) int64 {
		if i < len(c.Numbers) {
			return c.Numbers[i]
		}
		return 0
	}
	switch c.Function {
	case "DiskInterfaces":
		a.result, a.err = k.DiskInterfaces()
	case "AdapterInterfaces":
		a.result, a.err = k.AdapterInterfaces()
	case "OpenDevice":
		a.err = r.opened(c, func() (kernel.Handle, error) { return k.OpenDevice(object, uint32(number(0))) })
	case "ReenumerateDevices":
		a.err = k.ReenumerateDevices()
	case "WaitForDeviceInstalls":
		a.err = k.WaitForDeviceInstalls(time.Duration(number(0)))
	case "UpdateStorageCache":
		a.err = k.UpdateStorageCache()
	case "ResizePartition":
		a.err = k.ResizePartition(r.numbers[uint32(number(0))], number(1), number(2))
	case "OpenFile":
		a.err = r.opened(c, func() (kernel.Handle, error) {
			if c.Directory != 0 {
				return k.OpenFile(r.handles[c.Directory], c.Argument, *c.How)
			}
			return k.OpenFile(nil, object, *c.How)
		})
	case "SystemWindowsDirectory":
		a.result, a.err = k.SystemWindowsDirectory()
	case "VolumeNames":
		a.result, a.err = k.VolumeNames()
	case "VolumePathNames":
		a.result, a.err = k.VolumePathNames(object)
	case "VolumeNameForMountPoint":
		a.result, a.err = k.VolumeNameForMountPoint(object)
	case "SetVolumeMountPoint":
		a.err = k.SetVolumeMountPoint(object, argument)
	case "DeleteVolumeMountPoint":
		a.err = k.DeleteVolumeMountPoint(object)
	case "VolumeInformation":
		a.result, a.err = k.VolumeInformation(object)
	case "DiskFreeSpace":
		var s recording.Space
		s.Total, s.Free, a.err = k.DiskFreeSpace(object)
		a.result = s
	case "FormatVolume":
		a.err = k.FormatVolume(object, argument)
	case "QueryService":
		a.result, a.err = k.QueryService(object)
	case "StartService":
		a.err = k.StartService(object)
	case "StopService":
		a.err = k.StopService(object)
	case "DependentServices":
		a.result, a.err = k.DependentServices(object)
	case "SystemFirmwareTable":
		a.out, a.err = k.SystemFirmwareTable(c.Code, uint32(number(0)))
	case "RegistryStrings":
		a.result, a.err = k.RegistryStrings(object, argument)
	case "EnablePrivilege":
		a.err = k.EnablePrivilege(object)
	case "SMBGlobalMappings":
		a.result, a.err = k.SMBGlobalMappings()
	case "CreateSMBGlobalMapping":
		secret := password
		if code := win32.Errno(c.Win32); code == win32.ERROR_INVALID_PASSWORD || code == win32.ERROR_LOGON_FAILURE {
			secret = "not the " + password // as the caller's was
		}
		a.err = k.CreateSMBGlobalMapping(object, user, kernel.Secret(secret), number(0) != 0)
	case "RemoveSMBGlobalMapping":
		a.err = k.RemoveSMBGlobalMapping(object)
	default:
		return r.callOn(c, r.handles[c.Handle], number)
	}
	return a
}

// callOn makes a call on a handle.
func (r *replay) callOn(c *recording.Call, h kernel.Handle, number func(int) int64) (a answer) {
	a.out = make([]byte, c.Room)
	switch c.Function {
	case "DeviceIoControl":
		a.n, a.err = h.DeviceIoControl(c.Code, r.input(c), a.out)
		a.out = a.out[:min(a.n, len(a.out))]
	case "ReadAt":
		a.n, a.err = h.ReadAt(a.out, number(0))
	case "Flush":
		a.err = h.Flush()
	case "FinalPath":
		a.result, a.err = h.FinalPath(c.Code)
	case "Information":
		a.err = h.Information(c.Code, a.out)
	case "SetInformation":
		a.err = h.SetInformation(c.Code, c.In)
	case "Rename":
		a.err = h.Rename(r.handles[c.Directory], r.names.translate(c.Argument))
	case "Close":
		a.err = h.Close()
	}
	return a
}

// input returns what goes into a control code, with the node's names in it.
func (r *replay) input(c *recording.Call) []byte {
	if c.Code == win32.FSCTL_SET_REPARSE_POINT {
		if p, err := win32.ParseReparsePoint(c.In); err == nil {
			p.SubstituteName, p.PrintName = r.names.translate(p.SubstituteName), r.names.translate(p.PrintName)
			return p.Bytes()
		}
	}
	return c.In
}

// opened keeps the handle that a call opens, if the recorded call opened one, too.
func (r *replay) opened(c *recording.Call, open func() (kernel.Handle, error)) error {
	h, err := open()
	switch {
	case err == nil && !c.Opens():
		_ = h.Close()
	case err == nil:
		r.handles[c.Sequence] = h
	case c.Opens():
		r.lost[c.Sequence] = "the node did not open it"
	}
	return err
}
