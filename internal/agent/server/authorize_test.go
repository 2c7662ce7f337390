// SPDX-License-Identifier: Apache-2.0

//go:build unix

package server_test

import (
	"net"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	api "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v1"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/policy"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/server"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/transport"
)

// perUser are endpoints to which each of a process's connections comes from another user: 0, then 1, and so on.
type perUser struct{ transport.Endpoints }

func (e perUser) Listen(name string, private bool) (net.Listener, error) {
	l, err := e.Endpoints.Listen(name, private)
	return &perUserListener{Listener: l}, err
}

type perUserListener struct {
	net.Listener
	next int
}

func (l *perUserListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if known, ok := c.(*transport.Conn); ok {
		known.Peer.UID = new(l.next)
		l.next++
	}
	return c, err
}

// Each connection has the rights of the user that opened it, not of the process's other connections.
func TestPolicyOfEachConnection(t *testing.T) {
	p, err := policy.Parse("policy.yaml", []byte("apiVersion: "+policy.APIVersion+`
kind: Policy
rules:
- {name: first, clients: [{uid: 0}], methods: [filesystem]}
- {name: second, clients: [{uid: 1}], methods: [disk]}
`))
	if err != nil {
		t.Fatal(err)
	}
	endpoints := perUser{openDir(t, t.TempDir())}
	serve(t, endpoints, server.Options{Policy: p}, found)
	for uid, want := range []codes.Code{codes.OK, codes.PermissionDenied, codes.PermissionDenied} {
		_, err := api.NewFilesystemClient(dial(t, endpoints)).PathExists(t.Context(), &api.PathExistsRequest{})
		if status.Code(err) != want {
			t.Errorf("user %d: %v, want %v", uid, err, want)
		}
	}
}
