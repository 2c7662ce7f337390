// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"fmt"
	"slices"

	"github.com/kubernetes-csi/csi-proxy/internal/recording"
	"github.com/kubernetes-csi/csi-proxy/internal/win32"
)

// A Difference is what the recorded machine and the emulated node answered differently to one kind of call.
type Difference struct {
	Kind     string // see kindOf
	What     string // "result", or the field of a structure
	Recorded string // the code's name, or the field's value
	Emulated string
}

func (d Difference) String() string {
	return fmt.Sprintf("%s | %s | %s | %s", d.Kind, d.What, d.Recorded, d.Emulated)
}

// A Tally counts what came out for one kind of call.
type Tally struct {
	Equal   int
	Success int // of these: calls that did what was asked, not refusals
	Differs map[Difference]int
	Never   map[string]int // calls that were not compared, by the reason
}

// A Report is the result of a replay.
type Report struct {
	recording.Header
	Calls int
	Kinds map[string]*Tally
	First map[Difference]string // where a difference was seen first
}

func (r *Report) tally(kind string) *Tally {
	if r.Kinds[kind] == nil {
		r.Kinds[kind] = &Tally{Differs: map[Difference]int{}, Never: map[string]int{}}
	}
	return r.Kinds[kind]
}

// never counts a call that was not compared.
func (r *Report) never(c *recording.Call, reason string) { r.tally(kindOf(c)).Never[reason]++ }

// compared counts a call that was compared.
func (r *Report) compared(c *recording.Call, found []Difference) {
	t := r.tally(kindOf(c))
	if len(found) == 0 {
		t.Equal++
		if c.Succeeded() {
			t.Success++
		}
		return
	}
	for _, d := range found {
		t.Differs[d]++
		if _, known := r.First[d]; !known {
			r.First[d] = fmt.Sprintf("call %d, %s %s", c.Sequence, c.Function, c.Object)
		}
	}
}

// Differences returns all differences, sorted.
func (r *Report) Differences() (all []Difference) {
	for _, t := range r.Kinds {
		for d := range t.Differs {
			all = append(all, d)
		}
	}
	slices.SortFunc(all, func(a, b Difference) int {
		if a.String() < b.String() {
			return -1
		}
		return 1
	})
	return all
}

// kindOf returns the function, with the control code or the information class.
func kindOf(c *recording.Call) string {
	switch c.Function {
	case "DeviceIoControl":
		if query, err := win32.ParseStoragePropertyQuery(c.In); err == nil && c.Code == win32.IOCTL_STORAGE_QUERY_PROPERTY {
			return fmt.Sprintf("%s %s %s", c.Function, c.CodeName, propertyName(query.PropertyID))
		}
		return c.Function + " " + c.CodeName
	case "Information", "SetInformation":
		return c.Function + " " + className(c.Code)
	}
	return c.Function
}

func propertyName(id uint32) string {
	switch id {
	case win32.StorageDeviceProperty:
		return "StorageDeviceProperty"
	case win32.StorageAdapterProperty:
		return "StorageAdapterProperty"
	case win32.StorageDeviceIdProperty:
		return "StorageDeviceIdProperty"
	case win32.StorageDeviceUniqueIdProperty:
		return "StorageDeviceUniqueIdProperty"
	}
	return fmt.Sprint(id)
}

func className(class uint32) string {
	switch class {
	case win32.FileBasicInfo:
		return "FileBasicInfo"
	case win32.FileStandardInfo:
		return "FileStandardInfo"
	case win32.FileDispositionInfo:
		return "FileDispositionInfo"
	case win32.FileAttributeTagInfo:
		return "FileAttributeTagInfo"
	case win32.FileFullDirectoryInfo, win32.FileFullDirectoryRestartInfo:
		return "FileFullDirectoryInfo"
	case win32.FileIdInfo:
		return "FileIdInfo"
	case win32.FileDispositionInfoEx:
		return "FileDispositionInfoEx"
	}
	return fmt.Sprint(class)
}
