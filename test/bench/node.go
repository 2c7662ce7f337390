// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/kubernetes-csi/csi-proxy/internal/agent"
	"github.com/kubernetes-csi/csi-proxy/internal/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/kernel/emulated"
	"github.com/kubernetes-csi/csi-proxy/internal/win32"
)

// diskBytes is the size of each data disk; the images are sparse.
const diskBytes = 64 << 20

// target is a prepared node and what the calls ask about on it: the last of its data disks, whose volume is mounted.
type target struct {
	dir    string
	disk   uint32
	page83 string
	volume string

	served  map[string]bool // the endpoints' names
	kernel  map[string]int  // kernel calls of each method of a hub, by "group method"
	answers map[string]proto.Message
}

// The paths on the node, which are the same on all.
const (
	mountPath  = agent.KubeletDir + `\plugins\bench.example\mount`
	insidePath = mountPath + `\data`
	linkDir    = agent.KubeletDir + `\pods\bench`
	linkPath   = linkDir + `\mount`
)

func (t *target) socket(group, version string) string {
	return filepath.Join(t.dir, "run", endpointName(group, version)+".sock")
}

func endpointName(group, version string) string { return "csi-proxy-" + group + "-" + version }

// prepare makes a node with its system disk and data disks that are partitioned and formatted, and counts how many
// kernel calls each read-only method of the hubs takes there. It does so in this process, where kernel calls can be
// counted and need not reach the host's disk.
func prepare(ctx context.Context, dir string, disks int) (_ *target, err error) {
	var calls atomic.Int64
	counting := func(_ context.Context, _ kernel.Call, do func() error) error {
		calls.Add(1)
		return do()
	}
	a, err := agent.Start(ctx, agent.Config{StateDir: dir, Emulated: emulated.Options{NoSync: true}, Interceptor: counting})
	if err != nil {
		return nil, err
	}
	defer func() {
		patience, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		if stopErr := a.Stop(patience); err == nil {
			err = stopErr
		}
	}()
	t := &target{dir: dir, served: map[string]bool{}, kernel: map[string]int{}, answers: map[string]proto.Message{}}
	sockets, err := filepath.Glob(filepath.Join(a.SocketDir(), "*.sock"))
	if err != nil {
		return nil, err
	}
	for _, socket := range sockets {
		t.served[strings.TrimSuffix(filepath.Base(socket), ".sock")] = true
	}
	for _, scenarioDisk := range []uint32{2, 1} {
		if _, err := a.Emulated().DetachDisk(scenarioDisk); err != nil {
			return nil, err
		}
	}
	c, err := dialHubs(t)
	if err != nil {
		return nil, err
	}
	defer c.close()
	if err := t.attach(ctx, a.Emulated(), c, disks); err != nil {
		return nil, err
	}
	if err := c.mount(ctx, t.volume); err != nil {
		return nil, err
	}
	for _, r := range reads(t) {
		if !t.served[endpointName(r.group, r.hub)] {
			continue
		}
		s := r.subject(t)
		if _, err := s.answer(ctx); err != nil { // what the agent remembers of its first call is no part of the others
			return nil, err
		}
		before := calls.Load()
		answer, err := s.answer(ctx)
		if err != nil {
			return nil, err
		}
		t.kernel[r.key()], t.answers[r.key()] = int(calls.Load()-before), answer
	}
	return t, nil
}

// attach attaches data disks with volumes, the last of which is the one that the calls ask about. Each disk is
// partitioned and formatted while it is the only one, which is quicker than among hundreds, and pulled out again; then
// all are attached.
func (t *target) attach(ctx context.Context, n *emulated.Node, c *hubs, disks int) error {
	specs := make([]emulated.DiskSpec, disks)
	for i := range specs {
		const perTarget = 200
		identifier := []byte{0x60, 0x02, 0x24, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, byte(i >> 8), byte(i)}
		t.page83 = fmt.Sprintf("%x", identifier)
		specs[i] = emulated.DiskSpec{
			SizeBytes: diskBytes, SerialNumber: fmt.Sprintf("vol-bench-%09d", i),
			Identifiers: []win32.StorageIdentifier{{CodeSet: win32.StorageIdCodeSetBinary, Type: win32.StorageIdTypeFCPHName, Identifier: identifier}},
			Target:      uint8(1 + i/perTarget), LUN: uint8(i % perTarget),
		}
		number, err := n.AttachDisk(specs[i])
		if err != nil {
			return err
		}
		if t.volume, err = c.makeVolume(ctx, number); err != nil {
			return err
		}
		if specs[i].ImagePath, err = n.DetachDisk(number); err != nil {
			return err
		}
		specs[i].SizeBytes = 0 // the image has it
	}
	for _, spec := range specs {
		var err error
		if t.disk, err = n.AttachDisk(spec); err != nil {
			return err
		}
	}
	return nil
}
