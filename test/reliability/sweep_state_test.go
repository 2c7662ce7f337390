// SPDX-License-Identifier: Apache-2.0

package reliability

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/admin"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/node"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/operation"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/operator/treeview"
)

// state is everything on a node that a call could have changed, except random values. Volumes are named by their
// places.
type state struct {
	Disks     []treeview.Disk
	Paths     map[string]string // below kubelet's directory: "directory", "file", or where a link leads
	Files     map[string]string // on volumes, with their content
	Bystander bool              // its image is byte for byte unchanged
	Mappings  []string
	Portals   int
	Targets   []string
	Sessions  int
	Services  map[string]string
}

// observe reads the node's storage past the disturbed agent.
func (w *world) observe() (*treeview.Tree, error) {
	n, err := node.New(w.emulated, node.Config{WorkingDirs: []string{node.KubeletDir}})
	if err != nil {
		return nil, err
	}
	n = n.For(operation.Everything())
	return treeview.FromFacts(admin.FactsOf(context.WithoutCancel(w.t.Context()), n, treeview.Parts()...)), nil
}

func (w *world) state() state {
	w.t.Helper()
	tree, err := w.observe()
	w.OK(err)
	s := state{Disks: tree.Disks, Paths: map[string]string{}, Files: map[string]string{}, Services: map[string]string{}}
	volumes := map[string]string{} // id to place
	for _, d := range s.Disks {
		for _, p := range d.Partitions {
			if v := p.Volume; v != nil {
				place := fmt.Sprintf("volume of disk %d, partition %d", d.Number, p.Number)
				volumes[v.ID] = place
				v.ID = place
			}
		}
	}
	host, err := w.emulated.HostPath(node.KubeletDir)
	w.OK(err)
	w.listPaths(s.Paths, volumes, node.KubeletDir, host)
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

// listPaths lists a directory and everything below it; links and mount points are not followed.
func (w *world) listPaths(paths, volumes map[string]string, directory, host string) {
	w.t.Helper()
	entries, err := os.ReadDir(host)
	w.OK(err)
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), ".csi-proxy-reparse") {
			continue // what an interrupted call left: Windows does not see it
		}
		path := directory + `\` + entry.Name()
		target, err := w.emulated.Readlink(path)
		switch {
		case err == nil:
			for id, place := range volumes {
				target = strings.ReplaceAll(target, id, place)
			}
			paths[path] = "leads to " + absentVolume.ReplaceAllString(target, "a volume that is away")
		case entry.IsDir():
			paths[path] = "directory"
			w.listPaths(paths, volumes, path, filepath.Join(host, entry.Name()))
		default:
			paths[path] = "file"
		}
	}
}

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
	mappings, err := w.emulated.SMBGlobalMappings()
	w.OK(err)
	for _, m := range mappings {
		s.Mappings = append(s.Mappings, m.RemotePath+" "+win32.SMBMappingStatusName(m.Status))
	}
	slices.Sort(s.Mappings)
	for _, service := range w.emulated.Services() {
		s.Services[service.Name] = fmt.Sprint(service.State)
	}
	_, s.Portals, err = w.emulated.ReportISCSISendTargetPortals()
	if err != nil { // the service is stopped: nothing of iSCSI is visible
		return
	}
	s.Targets, err = w.emulated.ReportISCSITargets()
	w.OK(err)
	slices.Sort(s.Targets)
	sessions, err := w.emulated.ISCSISessionList()
	w.OK(err)
	s.Sessions = sessions.Count
}
