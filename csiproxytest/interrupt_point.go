// SPDX-License-Identifier: Apache-2.0

package csiproxytest

import (
	"fmt"
	"strings"

	nodeapi "github.com/kubernetes-csi/csi-proxy/api/emulated/v1alpha1"
)

// A point is one call of an operation.
type point struct {
	calls   Calls
	number  int  // of the calls like it, from 1
	changes bool // the node, or it is one of the driver
}

func (p point) name() string {
	name := p.calls.Function + p.calls.ControlCode
	if p.calls.Function == "DeviceIoControl" {
		name = p.calls.ControlCode
	}
	if p.calls.Method != "" {
		name = strings.TrimPrefix(strings.ReplaceAll(p.calls.Method, "/", "."), ".")
	}
	return fmt.Sprintf("%s#%d", name, p.number)
}

// pointsOf returns the calls of drivers, and the kernel calls that were made for them.
func pointsOf(entries []*nodeapi.JournalEntry) (points []point) {
	ofDriver := map[string]bool{}
	for _, e := range entries {
		if strings.HasPrefix(e.GetApi().GetEndpoint(), "csi-proxy-") {
			ofDriver[e.GetRequestId()] = true
		}
	}
	numbers := map[Calls]int{}
	for _, e := range entries {
		if !ofDriver[e.GetRequestId()] {
			continue
		}
		calls, changes := Calls{Method: e.GetApi().GetMethod()}, true
		if k := e.GetKernel(); k != nil {
			calls = Calls{Function: k.GetFunction(), ControlCode: k.GetControlCode()}
			changes = k.GetChanges()
		}
		numbers[calls]++
		points = append(points, point{calls, numbers[calls], changes})
	}
	return points
}

// outcome is what an operation leaves on a node, in the terms of the driver.
type outcome struct {
	Mounts   []string
	Mappings []Mapping
	Sessions []Session
	Links    []Link
}

// outcome returns it. Volumes are left out, as each format gives them another id.
func (n *Node) outcome() outcome {
	o := outcome{Mappings: n.Mappings(), Sessions: n.Sessions(), Links: n.Links(n.KubeletDir())}
	for _, m := range n.Mounts() {
		o.Mounts = append(o.Mounts, m.Path)
	}
	return o
}
