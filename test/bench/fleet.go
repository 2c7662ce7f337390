// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"

	disk "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	filesystem "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v2alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/emulation"
	"github.com/kubernetes-csi/csi-proxy/internal/kernel/emulated"
)

const (
	suiteTests  = 200 // of a driver
	mostNode    = 20. // MiB of one node of a fleet
	mostArrival = 50. // milliseconds of such a node, from its start to its first answer
)

// A fleetRow is the result for nodes as package csiproxytest starts them: in the test's process, and not flushed to the
// host's disk.
type fleetRow struct {
	Start  figure // milliseconds of one node of a fleet, from its start to its first answer
	Memory figure // MiB of one node of a fleet
	Life   figure // milliseconds of a volume
	Test   figure // milliseconds of a test with a node of its own and a volume's life
}

// measureFleet measures a process with many nodes, and tests with one each.
func measureFleet(ctx context.Context, o options, dir string) (row fleetRow, err error) {
	err = repeat(o.Rounds/2, func(round int) error {
		start, memory, err := oneFleet(ctx, o, filepath.Join(dir, fmt.Sprintf("f%d", round)))
		row.Start, row.Memory = append(row.Start, start), append(row.Memory, memory)
		return err
	}, func() []figure { return []figure{row.Memory} })
	if err != nil {
		return row, err
	}
	err = repeat(o.Rounds/2, func(round int) error {
		begin := time.Now()
		life, err := oneTest(ctx, filepath.Join(dir, fmt.Sprintf("t%d", round)))
		row.Life, row.Test = append(row.Life, life), append(row.Test, since(begin))
		return err
	}, func() []figure { return []figure{row.Test} })
	return row, err
}

// oneFleet starts a process with many nodes and returns what each of them costs.
func oneFleet(ctx context.Context, o options, dir string) (start, memory float64, err error) {
	self, err := os.Executable()
	if err != nil {
		return 0, 0, err
	}
	p := program{name: "a fleet", command: []string{self, "fleet", dir, strconv.Itoa(o.Nodes)}}
	err = with(ctx, p, func(pid int, took float64) error {
		if err := pause(ctx, o.Rest); err != nil {
			return err
		}
		now, _, err := memoryOf(pid)
		start, memory = took/float64(o.Nodes), now/float64(o.Nodes)
		return err
	})
	return start, memory, errors.Join(err, os.RemoveAll(dir))
}

// oneTest does what a driver's test does: it starts a node, takes a volume through its life, and stops the node.
func oneTest(ctx context.Context, dir string) (life float64, err error) {
	a, n, err := startNode(ctx, dir)
	if err != nil {
		return 0, err
	}
	err = n.call(ctx, "filesystem", "Mkdir", &filesystem.MkdirRequest{Path: linkDir}, &filesystem.MkdirResponse{})
	if err == nil {
		life, err = n.live(ctx, "life")
	}
	n.close()
	return life, errors.Join(err, a.Stop(ctx), os.RemoveAll(dir))
}

// startNode starts a node in this process and asks it for something.
func startNode(ctx context.Context, dir string) (*emulation.Agent, node, error) {
	a, err := emulation.Start(ctx, emulation.Config{StateDir: dir, Node: emulated.Options{NoSync: true}})
	if err != nil {
		return nil, nil, err
	}
	n := connect(ctx, program{sockets: a.SocketDir()})
	return a, n, n.call(ctx, "disk", "ListDiskIDs", &disk.ListDiskIDsRequest{}, &disk.ListDiskIDsResponse{})
}

// serveFleet starts many nodes in this process and prints a line when the last one has answered. It ends with its
// standard input.
func serveFleet(ctx context.Context, dir, count string) error {
	nodes, err := strconv.Atoi(count)
	if err != nil {
		return err
	}
	var ends []func()
	defer func() {
		for _, end := range ends {
			end()
		}
	}()
	for i := range nodes {
		a, n, err := startNode(ctx, filepath.Join(dir, strconv.Itoa(i)))
		if err != nil {
			return err
		}
		ends = append(ends, func() { n.close(); _ = a.Stop(ctx) })
	}
	if _, err := os.Stdout.WriteString("ready\n"); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// fleetGoals judges the results for a fleet.
func (r *report) fleetGoals() []goal {
	start := goal{Text: fmt.Sprintf("a node of a fleet in one process: its first answer ≤ %.0f ms after "+
		"its start", mostArrival)}
	start.judge("", r.Fleet.Start.summary(), mostArrival, millis)
	memory := goal{Text: fmt.Sprintf("and ≤ %.0f MiB of memory", mostNode)}
	memory.judge("", r.Fleet.Memory.summary(), mostNode, mib)
	return []goal{start, memory}
}
