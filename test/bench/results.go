// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// results are what one run measured.
type results struct {
	options options
	begun   time.Time
	took    time.Duration
	load    string // before the run
	reads   []readResult
	lives   []liveTimes
}

// readResult is what was measured of one method of a hub and its old versions.
type readResult struct {
	read
	kernel [2]int // kernel calls with few and with many disks
	shapes []shapeResult
	routes []route
	larger comparison // with many disks, one caller, to an echo of that size
	growth comparison // many disks to few, one caller
}

// shapeResult is that of one shape, with few disks.
type shapeResult struct {
	shape
	echo   series
	hub    series
	toEcho comparison   // to an echo of the same size
	routes []comparison // each old version's to the hub's
}

// measureReads measures all read-only methods that the agent serves.
func (r *results) measureReads(ctx context.Context, few, many *target, echoSocket string) error {
	other := reads(many)
	for i, read := range reads(few) {
		if !few.served[endpointName(read.group, read.hub)] {
			continue
		}
		routes, err := read.routes(few)
		if err != nil {
			return err
		}
		result := readResult{read: read, kernel: [2]int{few.kernel[read.key()], many.kernel[read.key()]}, routes: routes}
		larger := []subject{echoOf(echoSocket, other[i].request, many.answers[read.key()]), other[i].subject(many)}
		subjects := []subject{echoOf(echoSocket, read.request, few.answers[read.key()]), read.subject(few)}
		for _, route := range routes {
			subjects = append(subjects, route.subject)
		}
		for _, s := range r.options.shapes() {
			turns := subjects
			if s.callers == 1 { // many callers of a node with many disks would tell nothing more
				turns = append(slices.Clone(subjects), larger...)
			}
			all, err := inTurns(ctx, turns, s, r.options)
			if err != nil {
				return err
			}
			measured := shapeResult{shape: s, echo: all[0], hub: all[1], toEcho: all[1].to(&all[0])}
			for k := range routes {
				measured.routes = append(measured.routes, all[2+k].to(&all[1]))
			}
			result.shapes = append(result.shapes, measured)
			if s.callers == 1 {
				last := len(all) - 1
				result.larger, result.growth = all[last].to(&all[last-1]), all[last].to(&all[1])
			}
		}
		r.reads = append(r.reads, result)
	}
	return nil
}

// load is how busy the machine is, where that can be told.
func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	fields := strings.Fields(string(text))
	return fmt.Sprintf("%s over the last minute", fields[0])
}
