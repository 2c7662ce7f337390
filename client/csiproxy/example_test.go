// SPDX-License-Identifier: Apache-2.0

package csiproxy_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/client/dial"
)

// TestMain skips the examples if there is no agent for them. The agent's own tests run them with one.
func TestMain(m *testing.M) {
	flag.Parse()
	if os.Getenv(dial.SocketDirVariable) == "" {
		if err := flag.Set("test.skip", "^Example"); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

// A driver makes one client when it starts and looks for its disk when a volume is staged.
func Example() {
	client := csiproxy.New(csiproxy.Options{})
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()

	disks, err := client.Disk.ListDiskIDs(ctx, &csiproxy.ListDiskIDsRequest{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for number, ids := range disks.GetDiskIDs() {
		if ids.GetSerialNumber() == "vol0123456789abcdef1" {
			fmt.Println("the volume is disk", number)
		}
	}
	// Output: the volume is disk 1
}

// How a driver handles a failure depends on its kind.
func Example_errors() {
	client := csiproxy.New(csiproxy.Options{})
	defer client.Close()

	_, err := client.Volume.GetVolumeIDFromTargetPath(context.Background(),
		&csiproxy.GetVolumeIDFromTargetPathRequest{TargetPath: `C:\var\lib\kubelet\plugins\globalmount`})
	switch {
	case errors.Is(err, csiproxy.ErrNotMounted):
		fmt.Println("nothing to unstage")
	case errors.Is(err, csiproxy.ErrNoAgent):
		fmt.Println("install CSI Proxy on this node")
	case err != nil:
		fmt.Println(err)
	}
	// Output: nothing to unstage
}

// A driver that wants to know at its start which versions the agent serves connects at that time.
func ExampleClient_Connect() {
	client := csiproxy.New(csiproxy.Options{})
	defer client.Close()

	versions, err := client.Connect(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("disk", versions["disk"], "volume", versions["volume"])
	// Output: disk v1 volume v2alpha1
}
