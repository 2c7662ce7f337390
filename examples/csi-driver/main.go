// SPDX-License-Identifier: Apache-2.0

// Command csi-driver is a complete node plugin of the Container Storage Interface for Windows nodes. Its volumes are
// disks, of the machine or at iSCSI targets, and SMB shares. The work is package mounter's.
//
// In an ordinary container it calls the node's agent through its pipes; in a HostProcess container, with the option
// -host-process, it works in its own process. Off Windows, CSI_PROXY_SOCKET_DIR names the directory of the sockets of
// an agent with an emulated node.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"google.golang.org/grpc"

	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/inprocess"
	"github.com/kubernetes-csi/csi-proxy/mounter"
	"github.com/kubernetes-csi/csi-proxy/mounter/csicode"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if errors.Is(err, flag.ErrHelp) {
		os.Exit(2)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "csi-driver: %v\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) (err error) {
	flags := flag.NewFlagSet("csi-driver", flag.ContinueOnError)
	endpoint := flags.String("endpoint", "unix:///csi/csi.sock",
		"where kubelet finds the plugin: `unix://PATH` or tcp://HOST:PORT")
	nodeID := flags.String("node-id", "", "`name` of this node")
	hostProcess := flags.Bool("host-process", false, "run in a HostProcess container: work in process, without an agent")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *nodeID == "" {
		return errors.New("-node-id is missing")
	}
	client, finish, err := connect(*hostProcess)
	if err != nil {
		return err
	}
	// Work that has begun is finished even if the signal came meanwhile; otherwise it would be left half done.
	defer func() { err = errors.Join(err, finish(context.WithoutCancel(ctx))) }()
	listener, err := listen(*endpoint)
	if err != nil {
		return err
	}
	server := grpc.NewServer(grpc.UnaryInterceptor(csicode.Interceptor))
	newDriver(mounter.New(client), *nodeID).register(server)
	defer context.AfterFunc(ctx, server.GracefulStop)()
	if _, err := fmt.Fprintf(out, "ready at %s\n", listener.Addr()); err != nil {
		return err
	}
	return server.Serve(listener)
}

// connect returns the client that the plugin works with, and what to call when it ends.
func connect(hostProcess bool) (client *csiproxy.Client, finish func(context.Context) error, err error) {
	if hostProcess {
		node, err := inprocess.Open(inprocess.Options{})
		if err != nil {
			return nil, nil, err
		}
		return node.Client(), node.Close, nil
	}
	client = csiproxy.New(csiproxy.Options{})
	return client, func(context.Context) error { return client.Close() }, nil
}

// listen opens the plugin's endpoint. A socket that an earlier process left is removed.
func listen(endpoint string) (net.Listener, error) {
	network, address, ok := strings.Cut(endpoint, "://")
	if !ok || network != "unix" && network != "tcp" {
		return nil, fmt.Errorf("endpoint %q is neither unix://PATH nor tcp://HOST:PORT", endpoint)
	}
	if network == "unix" {
		if err := os.Remove(address); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	return net.Listen(network, address)
}
