// SPDX-License-Identifier: Apache-2.0

package reliability

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/iscsi"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/smb"
	"github.com/kubernetes-csi/csi-proxy/internal/operator/treeview"
	"github.com/kubernetes-csi/csi-proxy/test/caller"
)

// state is everything on a node that a call could have changed, except random values. Volumes are named by their
// places.
type state struct {
	Disks     []treeview.Disk
	Paths     map[string]string // below kubelet's directory: "directory", "file", or where a link leads
	Files     map[string]string // on volumes, with their content
	Bystander bool              // its image is byte for byte unchanged
	Mappings  []string
	Records   []string // what the agent has recorded of shares, without the names of the files
	Secret    bool     // the initiator's, for mutual CHAP
	Portals   int
	Targets   []string
	Sessions  int
	Services  map[string]string
}

func (w *world) state() state {
	w.t.Helper()
	o := caller.Observe(w.t, w.Emulated)
	disks, volumes := o.Disks()
	s := state{Disks: disks, Paths: o.Paths(), Files: map[string]string{}, Services: map[string]string{}}
	for path, is := range s.Paths {
		s.Paths[path] = absentVolume.ReplaceAllString(is, "a volume that is away")
	}
	for id, place := range volumes {
		if !strings.HasPrefix(place, "volume of disk 0") {
			guid := strings.Trim(strings.TrimPrefix(id, `\\?\Volume`), `{}\`)
			homes, err := filepath.Glob(filepath.Join(w.node.StateDir, "disks", "*.disk", "volumes", guid))
			w.OK(err)
			for _, files := range homes {
				w.listFiles(s.Files, place, files)
			}
		}
	}
	s.Bystander = w.node.DiskDigest(bystander) == w.bystander
	w.network(&s)
	return s
}

var absentVolume = regexp.MustCompile(`\\\\\?\\Volume\{[^}]*\}\\`)

// listFiles lists the files of a volume's content.
func (w *world) listFiles(files map[string]string, place, root string) {
	w.t.Helper()
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		files[place+": "+filepath.ToSlash(strings.TrimPrefix(path, root))] = string(content)
		return err
	})
	if !os.IsNotExist(err) { // never mounted
		w.OK(err)
	}
}

// network adds the state of SMB, iSCSI and the services.
func (w *world) network(s *state) {
	w.t.Helper()
	mappings, err := w.Emulated.SMBGlobalMappings()
	w.OK(err)
	files, err := filepath.Glob(filepath.Join(w.node.StateDir, emulated.RecordsDir, "*"))
	w.OK(err)
	for _, file := range files {
		if filepath.Ext(file) == ".lock" { // records nothing, and stays where a call died
			continue
		}
		text, err := os.ReadFile(file)
		w.OK(err)
		s.Records = append(s.Records, filepath.Ext(file)+" "+strings.TrimSpace(string(text)))
	}
	slices.Sort(s.Records)
	kept := w.kept()
	s.Secret = kept.ISCSI.Mutual != nil
	for i, m := range mappings {
		credentials := "other credentials"
		if at := kept.SMB.Mappings[i]; slices.ContainsFunc(kept.SMB.Users, func(u smb.User) bool {
			return bytes.Equal(u.Verifier, at.Verifier) && !at.Bare
		}) {
			credentials = "an account's credentials"
		}
		s.Mappings = append(s.Mappings, m.RemotePath+" "+win32.SMBMappingStatusName(m.Status)+", "+credentials)
	}
	slices.Sort(s.Mappings)
	for _, service := range w.Emulated.Surroundings().Services {
		s.Services[service.Name] = fmt.Sprint(service.State)
	}
	_, s.Portals, err = w.Emulated.ReportISCSISendTargetPortals()
	if err != nil { // the service is stopped: nothing of iSCSI is visible
		return
	}
	s.Targets, err = w.Emulated.ReportISCSITargets()
	w.OK(err)
	slices.Sort(s.Targets)
	sessions, err := w.Emulated.ISCSISessionList()
	w.OK(err)
	s.Sessions = sessions.Count
}

// kept is what the node keeps in its file and shows to no caller.
type kept struct {
	SMB   smb.State
	ISCSI iscsi.State
}

func (w *world) kept() kept {
	w.t.Helper()
	text, err := os.ReadFile(filepath.Join(w.node.StateDir, "node.json"))
	w.OK(err)
	var file struct{ Node kept }
	w.OK(json.Unmarshal(text, &file))
	return file.Node
}
