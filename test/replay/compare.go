// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/internal/recording"
	"github.com/kubernetes-csi/csi-proxy/internal/win32"
)

// compare returns the differences of an answer from the recorded one.
func (r *replay) compare(c *recording.Call, a answer) []Difference {
	kind := kindOf(c)
	if recorded, emulated := outcome(c), outcomeOf(a.err); recorded != emulated {
		return []Difference{{kind, "result", recorded, emulated}}
	}
	if part := c.Function == "DeviceIoControl" && win32.Errno(c.Win32) == win32.ERROR_MORE_DATA; !c.Succeeded() && !part {
		return nil
	}
	switch c.Function {
	case "DeviceIoControl":
		return r.compareControl(kind, c, a)
	case "Information":
		return r.compareInformation(kind, c, a)
	case "ReadAt":
		recorded := map[string]string{"bytes": fmt.Sprint(c.Count)}
		emulated := map[string]string{"bytes": fmt.Sprint(a.n)}
		if !r.foreign(c) { // what is on the system disk is not the node's
			recorded["zero"] = fmt.Sprint(c.Zero)
			emulated["zero"] = fmt.Sprint(a.n > 0 && strings.Trim(string(a.out[:a.n]), "\x00") == "")
		}
		return different(kind, recorded, emulated)
	}
	return r.compareResult(kind, c, a)
}

// outcome and outcomeOf return how a call ended.
func outcome(c *recording.Call) string {
	switch {
	case c.End:
		return "end"
	case c.Win32 != 0:
		return codeName(win32.Errno(c.Win32))
	case c.Error != "":
		return c.Error
	}
	return "success"
}

func outcomeOf(err error) string {
	var code win32.Errno
	switch {
	case err == nil:
		return "success"
	case errors.Is(err, io.EOF):
		return "end"
	case errors.As(err, &code):
		return codeName(code)
	}
	return err.Error()
}

func codeName(code win32.Errno) string {
	if name := code.Name(); name != "" {
		return name
	}
	return fmt.Sprint(uint32(code))
}

// foreign reports whether a call is about the system disk, whose partitions are the machine's own.
func (r *replay) foreign(c *recording.Call) bool {
	volume := strings.ToLower(volumeIn.FindString(c.Object))
	if at, ok := r.situation.volumes[volume]; ok {
		return at.DiskNumber == r.system
	}
	for _, d := range r.situation.disks {
		if d.number != r.system && r.onDisk(c, d) {
			return false
		}
	}
	return true
}

// compareResult compares a string, a list or a structure.
func (r *replay) compareResult(kind string, c *recording.Call, a answer) []Difference {
	same := func(what string, ok bool, recorded, emulated any) []Difference {
		if ok {
			return nil
		}
		return []Difference{{kind, what, fmt.Sprint(recorded), fmt.Sprint(emulated)}}
	}
	switch c.Function {
	case "FinalPath", "VolumeNameForMountPoint", "VolumeInformation", "SystemWindowsDirectory":
		got, _ := a.result.(string)
		return same("text", r.names.sameText(text(c), got), text(c), got)
	case "DiskInterfaces":
		return r.compareDisks(kind, texts(c), a.result)
	case "AdapterInterfaces":
		got, _ := a.result.([]string)
		return same("none", (len(got) == 0) == (len(texts(c)) == 0), len(texts(c)), len(got))
	case "VolumeNames":
		return r.compareVolumes(kind, texts(c), a.result)
	case "VolumePathNames", "DependentServices":
		got, _ := a.result.([]string)
		want := texts(c)
		for i := range want {
			want[i] = strings.ToLower(r.names.translate(want[i]))
		}
		got = slices.Clone(got)
		for i := range got {
			got[i] = strings.ToLower(got[i])
		}
		if c.Function == "VolumePathNames" {
			slices.Sort(want)
			slices.Sort(got)
		}
		return same("list", slices.Equal(got, want), want, got)
	case "RegistryStrings":
		got, _ := a.result.([]string)
		// what they name is the machine's
		return same("none", (len(got) == 0) == (len(texts(c)) == 0), len(texts(c)), len(got))
	case "QueryService":
		return r.compareService(kind, c, a)
	case "SMBGlobalMappings":
		return different(kind, fields(c.Result), fields(a.result))
	case "SystemFirmwareTable":
		theirs, err1 := win32.ParseSMBIOS(c.Out)
		ours, err2 := win32.ParseSMBIOS(a.out)
		if err1 != nil || err2 != nil {
			return same("table", err1 == nil && err2 == nil, err1, err2)
		}
		return same("serial number", theirs.SystemSerialNumber() == ours.SystemSerialNumber(), theirs.SystemSerialNumber(),
			ours.SystemSerialNumber())
	}
	return nil // it returns nothing, or sizes of a foreign disk
}

// compareDisks compares lists of disks by those that have a pair: nobody opened the others, so nothing is known of
// them.
func (r *replay) compareDisks(kind string, recorded []string, result any) (found []Difference) {
	got, _ := result.([]string)
	want := map[string]bool{}
	for _, path := range recorded {
		if to, ok := r.names.to[strings.ToLower(path)]; ok {
			want[strings.ToLower(to)] = true
		}
	}
	for _, path := range got {
		if _, paired := r.names.from[strings.ToLower(path)]; paired && !want[strings.ToLower(path)] {
			found = append(found, Difference{kind, "disk", "missing", "there"})
		}
		delete(want, strings.ToLower(path))
	}
	for range want {
		found = append(found, Difference{kind, "disk", "there", "missing"})
	}
	return found
}

// compareVolumes compares lists of volumes by those that have a pair: the others are the system disk's.
func (r *replay) compareVolumes(kind string, recorded []string, result any) (found []Difference) {
	got, _ := result.([]string)
	want := map[string]bool{}
	for _, name := range recorded {
		if err := r.findVolumes(name); err != nil {
			found = append(found, Difference{kind, "volume", "there", err.Error()})
		}
		if to, ok := r.names.to[strings.ToLower(volumeIn.FindString(name))]; ok {
			want[strings.ToLower(to)] = true
		}
	}
	for _, name := range got {
		id := strings.ToLower(volumeIn.FindString(name))
		if _, paired := r.names.from[id]; paired && !want[id] {
			found = append(found, Difference{kind, "volume", "missing", "there"})
		}
		delete(want, id)
	}
	for range want {
		found = append(found, Difference{kind, "volume", "there", "missing"})
	}
	return found
}

// compareService leaves out what takes time: how far a service is between two states, and which process it has.
func (r *replay) compareService(kind string, c *recording.Call, a answer) []Difference {
	recorded := service(c.Result)
	free := []string{"CheckPoint", "WaitHint", "ProcessID", "Accepted"}
	if pending(recorded.State) {
		free = append(free, "State")
	}
	want, got := fields(c.Result, free...), fields(a.result, free...)
	if !pending(recorded.State) {
		ours := service(marshal(a.result))
		want["runs in a process"], got["runs in a process"] = fmt.Sprint(recorded.ProcessID != 0),
			fmt.Sprint(ours.ProcessID != 0)
		want["accepts a stop"], got["accepts a stop"] = fmt.Sprint(recorded.Accepted&win32.SERVICE_ACCEPT_STOP != 0),
			fmt.Sprint(ours.Accepted&win32.SERVICE_ACCEPT_STOP != 0)
	}
	return different(kind, want, got)
}

func pending(state uint32) bool {
	return state == win32.SERVICE_START_PENDING || state == win32.SERVICE_STOP_PENDING
}
