// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"

	"github.com/Microsoft/go-winio/pkg/guid"

	"github.com/kubernetes-csi/csi-proxy/internal/emulated/bundle"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/hostfiles"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/iscsi"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/scenario"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/services"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/setting"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/smb"
)

// stateFormat is the version of node.json that this program writes and reads.
const stateFormat = 1

const stateFile = "node.json"

// maxStateBytes is far more than the largest node needs.
const maxStateBytes = 64 << 20

// state is the content of node.json. It is changed only as a whole, by Node.update.
type state struct {
	Surroundings
	SystemSerial string          `json:"systemSerial"` // of the SMBIOS system information
	Disks        []bundle.Record `json:"disks"`
	Letters      []letterState   `json:"letters"`
	Mounts       []mountState    `json:"mounts"`

	Adapters  []scenario.Adapter `json:"adapters,omitempty"`
	PageFiles []string           `json:"pageFiles,omitempty"`
	DumpFile  string             `json:"dumpFile,omitempty"`
	BootImage string             `json:"bootImage,omitempty"` // of the disk that Windows boots from
}

// letterState is a drive letter of the mount manager.
type letterState struct {
	Letter string    `json:"letter"` // one upper-case letter
	Volume guid.GUID `json:"volume"`
}

// mountState is the mount manager's record of a mount point: a directory of the host volume at which a volume is
// mounted.
type mountState struct {
	Volume guid.GUID `json:"volume"`
	Host   guid.GUID `json:"host"`
	Path   []string  `json:"path"`
}

func (s state) clone() state {
	cloneLists(reflect.ValueOf(&s).Elem())
	return s
}

// cloneLists gives a struct, and those in it, lists of their own.
func cloneLists(v reflect.Value) {
	for i := range v.NumField() {
		switch field := v.Field(i); {
		case field.Kind() == reflect.Struct:
			cloneLists(field)
		case field.Kind() == reflect.Slice && !field.IsNil():
			field.Set(reflect.AppendSlice(reflect.MakeSlice(field.Type(), 0, field.Len()), field))
		}
	}
}

// disk returns the record of the disk that has the image, nil if there is none.
func (s *state) disk(image string) *bundle.Record {
	return setting.Find(s.Disks, func(r *bundle.Record) bool { return r.Image == image })
}

// letter returns the drive letter of a name in any case, nil if no volume has it.
func (s *state) letter(name string) *letterState {
	return setting.Find(s.Letters, func(l *letterState) bool { return strings.EqualFold(l.Letter, name) })
}

// stateText is what node.json holds.
type stateText struct {
	Format int   `json:"format"`
	Node   state `json:"node"`
}

func decodeState(text []byte) (state, error) {
	var t stateText
	if err := json.Unmarshal(text, &t); err != nil {
		return t.Node, fmt.Errorf("it is not complete JSON of a node: %w", err)
	}
	if t.Format != stateFormat {
		return t.Node, fmt.Errorf("it has format %d; this program reads format %d", t.Format, stateFormat)
	}
	return t.Node, t.Node.check()
}

// check refuses a state that would mislead the rest of the program.
func (s *state) check() error {
	if err := s.Switches.Check(); err != nil {
		return fmt.Errorf("switches: %w", err)
	}
	numbers, images := map[uint32]bool{}, map[string]bool{}
	for _, d := range s.Disks {
		switch {
		case !hostfiles.IsName(d.Image):
			return fmt.Errorf("disk %d has the image name %q", d.Number, d.Image)
		case numbers[d.Number] || images[d.Image]:
			return fmt.Errorf("disk %d or its image appears twice", d.Number)
		case d.SectorSize != 512 && d.SectorSize != 4096:
			return fmt.Errorf("disk %d has sectors of %d bytes", d.Number, d.SectorSize)
		case d.Bundle != "" && !filepath.IsAbs(d.Bundle) && !filepath.IsLocal(d.Bundle):
			return fmt.Errorf("disk %d has the bundle %q", d.Number, d.Bundle)
		}
		numbers[d.Number], images[d.Image] = true, true
	}
	if err := errors.Join(s.Services.Check(), s.SMB.Check(), s.ISCSI.Check()); err != nil {
		return err
	}
	for _, l := range s.Letters {
		if len(l.Letter) != 1 || l.Letter[0] < 'A' || l.Letter[0] > 'Z' {
			return fmt.Errorf("drive letter %q", l.Letter)
		}
	}
	return nil
}

// Surroundings are what a node has besides its disks, as an administrator or a test sets it.
type Surroundings struct {
	Switches scenario.Switches `json:"switches"`
	Services services.List     `json:"services"`
	SMB      smb.State         `json:"smb"`
	ISCSI    iscsi.State       `json:"iscsi"`
}

// Surroundings returns them as they are. It is not a query of services: pending ones make no progress.
func (n *Node) Surroundings() Surroundings {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.state.clone().Surroundings
}

// Disks returns the records of the attached disks.
func (n *Node) Disks() []bundle.Record {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.state.clone().Disks
}

func saveState(h *hostfiles.Host, dir string, s state) error {
	return h.WriteJSON(filepath.Join(dir, stateFile), stateText{stateFormat, s})
}

// loadState reads node.json. A missing file is os.ErrNotExist, any other error a *hostfiles.DamagedError.
func loadState(dir string) (s state, err error) {
	err = hostfiles.ReadOwn(filepath.Join(dir, stateFile), maxStateBytes,
		"restore the file from a copy, run the program that wrote it, or start with an empty state directory",
		func(text []byte) (err error) {
			s, err = decodeState(text)
			return err
		})
	return s, err
}
