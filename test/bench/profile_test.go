// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"net"
	"path/filepath"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/agent"
	"github.com/kubernetes-csi/csi-proxy/internal/kernel/emulated"
)

// BenchmarkReads calls an agent in this process, for profiles and allocations (-cpuprofile, -benchmem): a figure here
// is client and server together. Compare with Echo.
func BenchmarkReads(b *testing.B) {
	dir := filepath.Join(shortDir(b), "n")
	n, err := prepare(b.Context(), dir, 2)
	if err != nil {
		b.Fatal(err)
	}
	a, err := agent.Start(b.Context(), agent.Config{
		StateDir: dir, Emulated: emulated.Options{NoSync: true},
	})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = a.Stop(context.Background()) })
	for _, read := range reads(n) {
		if n.served[endpointName(read.group, read.hub)] {
			b.Run(read.method, func(b *testing.B) { benchmark(b, read.subject(n)) })
		}
	}
}

// BenchmarkEcho is the echo in this process.
func BenchmarkEcho(b *testing.B) {
	socket := filepath.Join(shortDir(b), "echo.sock")
	l, err := net.Listen("unix", socket)
	if err != nil {
		b.Fatal(err)
	}
	s := newEcho()
	go func() { _ = s.Serve(l) }() // ends when stopped
	b.Cleanup(s.Stop)
	bare := subject{socket: socket, path: echoPath}.withEmptyMessages()
	benchmark(b, bare)
}

func benchmark(b *testing.B, s subject) {
	conns, err := connect(s.socket, 1)
	if err != nil {
		b.Fatal(err)
	}
	defer conns.close()
	if err := conns.ready(b.Context()); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := s.call(b.Context(), conns[0]); err != nil {
			b.Fatal(err)
		}
	}
}
