// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/deviceside"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/recording"
)

// A question is what an answer is compared by.
type question struct {
	Test  string
	Call  string // the function, with its control code or information class, and what it was called on
	Field string // of the answer; "error"; "call": whether it was made at all
}

// A difference is what two machines answered differently to the same calls.
type difference struct {
	question
	Recorded, Emulated string // the answers that only this one gave, "-" for none
}

func (d difference) String() string {
	return fmt.Sprintf("%s: %s: %s: recorded %s, emulated %s", d.Test, d.Call, d.Field, d.Recorded, d.Emulated)
}

// answers are the values that the fields of the answers had.
type answers map[question]map[string]bool

// compareRecordings finds what an emulated node answered otherwise than a recorded machine did, in the tests that both ran.
//
// Agents on two machines make the same calls in other orders, and more or fewer of them: they ask several disks side by
// side, and wait until something has happened. So what is compared is, of all calls of one kind on one kind of object,
// the set of values that each field of the answer had. Names that a machine makes up count as equal.
func compareRecordings(recorded, emulated []recording.Call) (found []difference) {
	theirs, ours := gather(recorded), gather(emulated)
	all := maps.Clone(theirs)
	maps.Copy(all, ours)
	seen := map[difference]bool{}
	for _, q := range slices.SortedFunc(maps.Keys(all), func(a, b question) int {
		return cmp.Or(cmp.Compare(a.Test, b.Test), cmp.Compare(a.Call, b.Call), cmp.Compare(a.Field, b.Field))
	}) {
		call, test := question{q.Test, q.Call, "call"}, question{Test: q.Test}
		d := difference{question{"", q.Call, q.Field}, only(theirs[q], ours[q]), only(ours[q], theirs[q])}
		switch {
		case d.Recorded == d.Emulated, seen[d]:
		case theirs[test] == nil || ours[test] == nil: // only one ran it
		case q != call && (theirs[call] == nil || ours[call] == nil): // only one made it, which says all
		default:
			seen[d] = true
			d.Test = q.Test // the first
			found = append(found, d)
		}
	}
	return found
}

// only returns the values that others lack.
func only(values, others map[string]bool) string {
	lacking := maps.Clone(values)
	maps.DeleteFunc(lacking, func(value string, _ bool) bool { return others[value] })
	if len(lacking) == 0 {
		return "-"
	}
	return strings.Join(slices.Sorted(maps.Keys(lacking)), " or ")
}

func gather(calls []recording.Call) answers {
	all := answers{}
	for i := range calls {
		c := &calls[i]
		name := strings.TrimSpace(kindOf(c) + " " + plain(c.Object))
		if c.Argument != "" {
			name += ", " + plain(c.Argument)
		}
		all[question{Test: c.Test}] = map[string]bool{}
		answerOf(c, func(field, value string) {
			q := question{c.Test, name, field}
			if all[q] == nil {
				all[q] = map[string]bool{}
			}
			all[q][value] = true
		})
	}
	return all
}

// made matches what a machine or a test makes up, and what stands for it in comparisons.
var made = []struct {
	form *regexp.Regexp
	by   string
}{
	{regexp.MustCompile(`\\\\\?\\[^\\#]+#[^\\]*\{[-0-9a-f]{36}\}`), "INTERFACE"},
	{regexp.MustCompile(`volume\{[-0-9a-f]{36}\}`), "volume{GUID}"},
	{regexp.MustCompile(`(physicaldrive|harddisk|harddiskvolume|disk )[1-9][0-9]*`), "${1}N"},
	{regexp.MustCompile(`iqn\.[^ "*]+`), "IQN"},
	{regexp.MustCompile(`\\unc\\[^\\]+\\[^\\"]+`), `\unc\SHARE`},
	{regexp.MustCompile(`^\\\\[^\\?.][^\\?]*\\[^\\"]+`), `\\SHARE`},
	{regexp.MustCompile(`\b[0-9]+(\.[0-9]+){3}(:[0-9]+)?\b`), "ADDRESS"},
	{regexp.MustCompile(`[0-9a-f]{8,}`), "HEX"},
}

// plain returns a text, in lower case, without what is made up.
func plain(text string) string {
	text = strings.ToLower(text)
	for _, m := range made {
		text = m.form.ReplaceAllString(text, m.by)
	}
	return text
}

// free are the fields that a machine, its disks or the moment decide on, not what was asked.
var free = strings.Fields(`
	AllocationSize ChangeTime CreationTime LastAccessTime LastWriteTime EndOfFile FileIndex ID VolumeSerialNumber
	CheckPoint WaitHint ProcessID AdapterUnique AdapterSpecific
	VendorID ProductID ProductRevision SerialNumber DeviceTypeModifier CommandQueueing Identifier
	Cylinders TracksPerCylinder SectorsPerTrack DiskID CheckSum DeviceNumber DiskNumber
	PortNumber PathID TargetID LUN Free Total
	DiskSize Length UsableLength NumberSectors TotalClusters FreeClusters TotalReserved MftValidDataLength
	MftStartLCN Mft2StartLCN MftZoneStart MftZoneEnd
	TotalAllocationUnits CallerAvailableAllocationUnits ActualAvailableAllocationUnits SectorsPerAllocationUnit`)

// A decoder reads an output.
type decoder func(out []byte) (any, error)

func as[T any](parse func([]byte) (T, error)) decoder {
	return func(out []byte) (any, error) { return parse(out) }
}

var (
	controls = map[uint32]decoder{
		win32.FSCTL_GET_NTFS_VOLUME_DATA:           as(win32.ParseNTFSVolumeData),
		win32.FSCTL_GET_REPARSE_POINT:              as(win32.ParseReparsePoint),
		win32.IOCTL_DISK_GET_DISK_ATTRIBUTES:       as(win32.ParseGetDiskAttributes),
		win32.IOCTL_DISK_GET_DRIVE_GEOMETRY_EX:     as(win32.ParseDiskGeometryEx),
		win32.IOCTL_DISK_GET_DRIVE_LAYOUT_EX:       as(win32.ParseDriveLayout),
		win32.IOCTL_DISK_GET_LENGTH_INFO:           as(win32.ParseLengthInformation),
		win32.IOCTL_DISK_UPDATE_DRIVE_SIZE:         as(deviceside.ParseDiskGeometry),
		win32.IOCTL_SCSI_GET_ADDRESS:               as(win32.ParseSCSIAddress),
		win32.IOCTL_STORAGE_GET_DEVICE_NUMBER:      as(win32.ParseStorageDeviceNumber),
		win32.IOCTL_VOLUME_GET_VOLUME_DISK_EXTENTS: as(win32.ParseVolumeDiskExtents),
	}
	properties = map[uint32]decoder{
		win32.StorageDeviceProperty:   as(win32.ParseStorageDevice),
		win32.StorageAdapterProperty:  as(win32.ParseStorageAdapter),
		win32.StorageDeviceIdProperty: as(win32.ParseStorageDeviceID),
	}
	classes = map[uint32]decoder{
		win32.FileBasicInfo:                as(win32.ParseFileBasic),
		win32.FileStandardInfo:             as(win32.ParseFileStandard),
		win32.FileAttributeTagInfo:         as(win32.ParseFileAttributeTag),
		win32.FileIdInfo:                   as(win32.ParseFileID),
		win32.FileFullDirectoryInfo:        as(win32.ParseDirectoryEntries),
		win32.FileFullDirectoryRestartInfo: as(win32.ParseDirectoryEntries),
	}
)

// decoderOf returns how a call's output is read, nil if nothing reads it.
func decoderOf(c *recording.Call) decoder {
	switch c.Function {
	case "DeviceIoControl":
		if c.Code == win32.IOCTL_STORAGE_QUERY_PROPERTY {
			query, _ := deviceside.ParseStoragePropertyQuery(c.In)
			return properties[query.PropertyID]
		}
		return controls[c.Code]
	case "Information":
		return func(out []byte) (any, error) {
			const zeros = 64 // at the end, which a recording leaves out
			return classes[c.Code](slices.Concat(out, make([]byte, zeros)))
		}
	case "FsInformation":
		return as(win32.ParseFileFsFullSize)
	case "ISCSISessionList":
		return func(out []byte) (any, error) { return win32.ParseISCSISessionList(out, c.Base, c.Count) }
	case "DevicesForISCSISession":
		return func(out []byte) (any, error) { return win32.ParseISCSIDevices(out, c.Count) }
	case "ReportISCSITargetPortals":
		return func(out []byte) (any, error) { return win32.ParseISCSITargetPortals(out, c.Count) }
	case "ReportISCSISendTargetPortals":
		return func(out []byte) (any, error) { return win32.ParseISCSITargetPortalInfos(out, c.Count) }
	}
	return nil
}

// kindOf returns the function, with what tells its calls apart.
func kindOf(c *recording.Call) string {
	switch c.Function {
	case "DeviceIoControl":
		if c.Code == win32.IOCTL_STORAGE_QUERY_PROPERTY {
			query, _ := deviceside.ParseStoragePropertyQuery(c.In)
			return fmt.Sprintf("%s property %d", c.CodeName, query.PropertyID)
		}
		return c.CodeName
	case "Information", "SetInformation", "FsInformation":
		return fmt.Sprintf("%s class %d", c.Function, c.Code)
	case "FinalPath":
		return fmt.Sprintf("FinalPath %d", c.Code)
	}
	return c.Function
}

// answerOf tells what a call answered, field by field.
func answerOf(c *recording.Call, tell func(field, value string)) {
	tell("call", "made")
	if c.Win32 != 0 || c.Error != "" {
		tell("error", strings.TrimSpace(fmt.Sprintf("%d %s", c.Win32, c.Error)))
	} else {
		tell("error", "none")
	}
	if c.Function == "ReadAt" {
		tell("zero", fmt.Sprint(c.Zero))
	}
	result := []byte(c.Result)
	if decode := decoderOf(c); decode != nil && (c.Out != nil || c.Function == "Information") && c.Win32 == 0 {
		v, err := decode(c.Out)
		if err != nil {
			tell("bytes", err.Error())
			return
		}
		result = inJSON(v)
	}
	var tree any
	d := json.NewDecoder(bytes.NewReader(result))
	d.UseNumber() // a float64 does not hold 64 bits
	if d.Decode(&tree) == nil {
		leaves("", tree, tell)
	}
}

// leaves tells the leaves of a value; elements of lists share a path.
func leaves(path string, v any, tell func(path, value string)) {
	switch v := v.(type) {
	case map[string]any:
		for name, value := range v {
			if !slices.Contains(free, name) {
				leaves(strings.TrimPrefix(path+"."+name, "."), value, tell)
			}
		}
	case []any:
		for _, value := range v {
			leaves(path+"[]", value, tell)
		}
	case string:
		tell(path, plain(v))
	case nil:
	default:
		tell(path, fmt.Sprint(v))
	}
}

func TestCompareFindsWhatIsPlanted(t *testing.T) {
	out := win32.FileAttributeTag{Attributes: win32.FILE_ATTRIBUTE_DIRECTORY}.Bytes()
	calls := func(volume string) []recording.Call {
		return []recording.Call{
			{Test: "T", Function: "OpenFile", Object: volume + `\dir`},
			{Test: "T", Function: "Information", Object: volume + `\dir`, Code: win32.FileAttributeTagInfo, Out: out},
			{Test: "T", Function: "VolumePathNames", Object: volume, Result: inJSON([]string{`C:\a`, `C:\b`})},
			{Test: "other", Function: "VolumeNames"},
		}
	}
	const theirs, ours = `\\?\Volume{11111111-07f5-431b-98be-06d3aa592631}`,
		`\\?\Volume{22222222-07f5-431b-98be-06d3aa592631}`
	again := slices.Concat(calls(ours)[:3], calls(ours)[:1]) // in another number, and without a test
	if found := compareRecordings(calls(theirs), again); found != nil {
		t.Errorf("found %v", found)
	}
	for want, plant := range map[string]func(c []recording.Call) []recording.Call{
		`OpenFile \\?\volume{GUID}\dir: error: recorded 5 ERROR_ACCESS_DENIED, emulated none`: func(
			c []recording.Call) []recording.Call {
			c[0].Win32, c[0].Error = 5, "ERROR_ACCESS_DENIED"
			return c
		},
		`Information class 9 \\?\volume{GUID}\dir: Attributes: recorded 32, emulated 16`: func(
			c []recording.Call) []recording.Call {
			c[1].Out = win32.FileAttributeTag{Attributes: win32.FILE_ATTRIBUTE_ARCHIVE}.Bytes()
			return c
		},
		`VolumePathNames \\?\volume{GUID}: []: recorded -, emulated c:\b`: func(c []recording.Call) []recording.Call {
			c[2].Result = inJSON([]string{`C:\a`})
			return c
		},
		`VolumePathNames \\?\volume{GUID}: call: recorded -, emulated made`: func(c []recording.Call) []recording.Call {
			return c[:2]
		},
	} {
		found := compareRecordings(plant(calls(theirs)), calls(ours))
		if len(found) != 1 || found[0].String() != "T: "+want {
			t.Errorf("found %v, want %s", found, want)
		}
	}
}

func inJSON(v any) json.RawMessage {
	text, _ := json.Marshal(v)
	return text
}
