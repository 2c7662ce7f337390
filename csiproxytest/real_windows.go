// SPDX-License-Identifier: Apache-2.0

package csiproxytest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	native "github.com/kubernetes-csi/csi-proxy/internal/agent/kernel/windows"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/machine"
)

// A thisMachine is this machine, with what a test has made there.
type thisMachine struct {
	kernel.Kernel
	t        testing.TB
	choose   bool // what disks say of themselves, as the agent is in this process
	disks    *machine.Disks
	attached map[uint32]testDisk
	pulled   map[string]testDisk      // by image
	shares   map[string]machine.Share // by \\server\share in lower case
}

type testDisk struct {
	*machine.VirtualDisk
	identity machine.Identity
}

// openMachine makes kubelet's directory on this machine until the test ends.
func openMachine(t testing.TB, kubelet string, agentHere bool) (realMachine, error) {
	t.Helper()
	m := &thisMachine{
		Kernel: native.New(), t: t, choose: agentHere, disks: &machine.Disks{},
		attached: map[uint32]testDisk{}, pulled: map[string]testDisk{}, shares: map[string]machine.Share{},
	}
	return m, machine.MakeDirectory(t, kubelet)
}

func (m *thisMachine) guarded() kernel.Kernel { return m.disks.Guard(m.Kernel) }

func (m *thisMachine) owns(disk uint32) bool { return m.attached[disk].VirtualDisk != nil }

func (m *thisMachine) attach(d Disk) (uint32, error) {
	identity := machine.Identity{SerialNumber: d.SerialNumber, Page83: d.Page83}
	if identity != (machine.Identity{}) && !m.choose {
		return 0, machine.Unavailable("the agent that runs is told the serial number and the page 83 identifier of a " +
			"virtual disk, which Windows chooses")
	}
	made := m.pulled[d.ImagePath]
	var err error
	switch {
	case d.ImagePath == "":
		made.VirtualDisk, err = machine.AttachVirtualDisk(m.t, d.SizeBytes, 0)
	case made.VirtualDisk == nil:
		err = machine.Unavailable("a disk with the content of a file needs an emulated node")
	default:
		err = made.Attach()
	}
	if err != nil {
		return 0, err
	}
	if identity != (machine.Identity{}) {
		made.identity = identity
	}
	delete(m.pulled, d.ImagePath)
	m.attached[made.Number()] = made
	m.disks.Add(made.Number(), made.identity)
	return made.Number(), nil
}

// find returns a disk that the test attached.
func (m *thisMachine) find(number uint32) (testDisk, error) {
	if found, own := m.attached[number]; own {
		return found, nil
	}
	return testDisk{}, fmt.Errorf("the test did not attach disk %d", number)
}

func (m *thisMachine) DetachDisk(number uint32) (image string, err error) {
	found, err := m.find(number)
	if err != nil {
		return "", err
	}
	delete(m.attached, number)
	m.disks.Remove(number)
	m.pulled[found.Path] = found
	return found.Path, found.Detach()
}

func (m *thisMachine) GrowDisk(number uint32, sizeBytes int64) error {
	found, err := m.find(number)
	if err != nil {
		return err
	}
	if _, err := found.Grow(sizeBytes); err != nil {
		return err
	}
	if now := found.Number(); now != number {
		return fmt.Errorf("disk %d had to be pulled to grow, and is disk %d now", number, now)
	}
	return nil
}

func (m *thisMachine) SetDiskOnline(number uint32, online bool) error {
	return machine.SetAttribute(m.guarded(), number, win32.DISK_ATTRIBUTE_OFFLINE, !online)
}

func (m *thisMachine) SetDiskReadOnly(number uint32, readOnly bool) error {
	return machine.SetAttribute(m.guarded(), number, win32.DISK_ATTRIBUTE_READ_ONLY, readOnly)
}

func (*thisMachine) HostPath(windowsPath string) (string, error) {
	return filepath.Clean(windowsPath), nil
}

func (*thisMachine) Readlink(windowsPath string) (string, error) { return os.Readlink(windowsPath) }

func (m *thisMachine) fileServer() (FileServer, error) {
	account, err := machine.SharedAccount(m.t)
	if err != nil {
		return FileServer{}, err
	}
	host, err := os.Hostname()
	return FileServer{host, host + `\` + account.Name, account.Password}, err // a bare name may be one of the domain
}

func (m *thisMachine) AddSMBShare(server, share string, users []string) error {
	if host, err := os.Hostname(); err != nil || !strings.EqualFold(server, host) || len(users) > 0 {
		return machine.Unavailable("a file server besides FileServer, or accounts of a share, need an emulated node")
	}
	made, err := machine.NewShare(m.t, machine.ShareOptions{Name: share})
	if err == nil {
		m.shares[strings.ToLower(made.Remote)] = made
	}
	return err
}

func (m *thisMachine) RemoveSMBShare(server, share string) error {
	remote := strings.ToLower(`\\` + server + `\` + share)
	made, known := m.shares[remote]
	if !known {
		return fmt.Errorf("the test did not make the share %s", remote)
	}
	delete(m.shares, remote)
	return made.Remove()
}
