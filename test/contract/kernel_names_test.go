// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"fmt"
	"regexp"
	"strings"

	nodeapi "github.com/kubernetes-csi/csi-proxy/api/emulated/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/operator/treeview"
)

// objectNames replaces the parts of a kernel call's object that differ from node to node.
type objectNames struct {
	volumes map[string]string // a volume's name without slashes around it, to the volume's place
}

func newObjectNames(tree *treeview.Tree) *objectNames {
	n := &objectNames{volumes: make(map[string]string)}
	n.add(tree)
	return n
}

// add learns the volumes of a tree.
func (n *objectNames) add(tree *treeview.Tree) {
	for _, d := range tree.Disks {
		for _, p := range d.Partitions {
			if p.Volume != nil {
				n.volumes[strings.Trim(p.Volume.ID, `\?`)] = fmt.Sprintf("{disk %d partition %d}", d.Number, p.Number)
			}
		}
	}
}

var (
	diskInterface = regexp.MustCompile(
		`\\\\\?\\scsi#disk&ven_[^#]*#(\d+)&[^ ]*?#\{53f56307-b6bf-11d0-94f2-00a0c91efb8b\}`)
	volumeName = regexp.MustCompile(`Volume\{[0-9a-f-]{36}\}`)
	session    = regexp.MustCompile(`^[0-9a-f]+-[0-9a-f]+$`)
	errorName  = regexp.MustCompile(`\(([A-Z][A-Z_]+), \d+\)`)
)

// classNames returns the names of the numbers that the journal shows for information classes and the like.
func classNames() map[string]string {
	return map[string]string{
		"Information ":                   "FileBasicInfo",
		"Information 0x00000001":         "FileStandardInfo",
		"Information 0x00000009":         "FileAttributeTagInfo",
		"Information 0x0000000e":         "FileFullDirectoryInfo",
		"Information 0x0000000f":         "FileFullDirectoryRestartInfo",
		"FsInformation 0x00000007":       "FileFsFullSizeInformation",
		"SetInformation ":                "FileBasicInfo",
		"SetInformation 0x00000015":      "FileDispositionInfoEx",
		"FinalPath ":                     "VOLUME_NAME_DOS",
		"FinalPath 0x00000001":           "VOLUME_NAME_GUID",
		"FinalPath 0x00000002":           "VOLUME_NAME_NT",
		"SystemFirmwareTable 0x52534d42": "RSMB",
	}
}

// line formats a kernel call: its function, control code or class, object, and the error's name if it failed.
func (n *objectNames) line(call *nodeapi.KernelCall) string {
	code := call.GetControlCode()
	if name, ok := classNames()[call.GetFunction()+" "+code]; ok {
		code = name
	}
	object := diskInterface.ReplaceAllString(call.GetObject(), "{interface of disk $1}")
	object = volumeName.ReplaceAllStringFunc(object, func(name string) string {
		if place, ok := n.volumes[name]; ok {
			return "Volume" + place
		}
		return "Volume{unknown}"
	})
	if strings.Contains(call.GetFunction(), "ISCSI") && session.MatchString(object) {
		object = "{session}"
	}
	parts := []string{call.GetFunction()}
	for _, part := range []string{code, object} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	if text := call.GetError(); text != "" {
		if name := errorName.FindStringSubmatch(text); name != nil {
			text = name[1]
		}
		parts = append(parts, "-> "+text)
	}
	return strings.Join(parts, " ")
}
