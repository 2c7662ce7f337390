// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"context"
	"flag"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	filesystem "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v2alpha1"
	smb "github.com/kubernetes-csi/csi-proxy/client/api/smb/v1"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/testnode"
)

const (
	share     = `\\fs.emulated\share`
	shareLink = pods + `\share`
)

// attackTime is how long the attacks on shares go on when the tests are not sampled.
var attackTime = flag.Duration("attack-time", 5*time.Second, "how long shares are attacked, with CSI_PROXY_LONG")

// attackFor calls f until that time is over, or as often as told when the tests are sampled.
func attackFor(rounds int, f func(round int)) (done int) {
	begin := time.Now()
	for testnode.Long() && time.Since(begin) < *attackTime || !testnode.Long() && done < rounds {
		f(done)
		done++
	}
	return done
}

func mapShare(ctx context.Context, n *testnode.Node, remote, local string) error {
	_, err := n.SMB.NewSmbGlobalMapping(ctx, &smb.NewSmbGlobalMappingRequest{
		RemotePath: remote, LocalPath: local, Username: "csi", Password: "csi-password",
	})
	return err
}

// Eight clients ask for a path through a link to a share, two more ask about the link and make a directory behind it,
// while another unmaps and maps the share as fast as it can. No server is met without a mapping: it would be shown the
// account of the machine. The file server counts.
func TestUnmappingUnderWalks(t *testing.T) {
	n := testnode.Start(t, testnode.Options{})
	noError(t, mapShare(t.Context(), n, share, shareLink))
	_, err := n.Filesystem.Mkdir(t.Context(), &filesystem.MkdirRequest{Path: shareLink + `\dir`})
	noError(t, err)

	ctx, stop := context.WithCancel(t.Context())
	var clients sync.WaitGroup
	var answered, refused atomic.Int64
	client := func(call func() error) {
		clients.Go(func() {
			for ctx.Err() == nil {
				switch err := call(); codeOf(err) {
				case codes.OK:
					answered.Add(1)
				case codes.FailedPrecondition: // it is not mapped now
					refused.Add(1)
				default:
					t.Errorf("a client: %v", err)
					return
				}
			}
		})
	}
	for range 8 {
		client(func() error {
			_, err := n.Filesystem.PathExists(t.Context(), &filesystem.PathExistsRequest{Path: shareLink + `\dir\file`})
			return err
		})
	}
	client(func() error {
		_, err := n.Filesystem.IsSymlink(t.Context(), &filesystem.IsSymlinkRequest{Path: shareLink})
		return err
	})
	client(func() error {
		_, err := n.Filesystem.Mkdir(t.Context(), &filesystem.MkdirRequest{Path: shareLink + `\made\below`})
		return err
	})
	rounds := attackFor(60, func(int) {
		if _, err := n.SMB.RemoveSmbGlobalMapping(t.Context(),
			&smb.RemoveSmbGlobalMappingRequest{RemotePath: share}); err != nil {
			t.Errorf("unmapping: %v", err)
		}
		if err := mapShare(t.Context(), n, share, ""); err != nil {
			t.Errorf("mapping: %v", err)
		}
	})
	stop()
	clients.Wait()
	if got := n.Emulated.SMBContactsWithoutMapping(); got != 0 {
		t.Errorf("%d contacts without a mapping", got)
	}
	if answered.Load() == 0 || refused.Load() == 0 {
		t.Errorf("%d calls were answered and %d refused: nothing was put to the test", answered.Load(), refused.Load())
	}
	t.Logf("%d times unmapped and mapped; %d calls answered, %d refused", rounds, answered.Load(), refused.Load())
}

// A pod has a file open on a share, and other pods' volumes are staged on it again and again while the share's root
// fails to open for reasons that have nothing to do with credentials. The mapping is never taken from under the pod.
func TestStagingUnderAPod(t *testing.T) {
	n := testnode.Start(t, testnode.Options{})
	noError(t, mapShare(t.Context(), n, share, ""))
	file, err := n.Emulated.OpenFile(nil, `\\?\UNC`+share[1:]+`\`, kernel.OpenOptions{
		Access: win32.FILE_READ_ATTRIBUTES, Share: 7, Disposition: win32.FILE_OPEN, Options: win32.FILE_DIRECTORY_FILE,
	})
	noError(t, err)
	defer file.Close()
	failures := []win32.Errno{
		win32.ERROR_NO_SYSTEM_RESOURCES, win32.ERROR_NOT_ENOUGH_MEMORY, win32.ERROR_TOO_MANY_OPEN_FILES,
		win32.ERROR_GEN_FAILURE,
		win32.ERROR_SHARING_VIOLATION, win32.ERROR_BAD_NETPATH, win32.ERROR_NETNAME_DELETED, win32.ERROR_UNEXP_NET_ERR,
		win32.ERROR_NETWORK_BUSY, win32.ERROR_SEM_TIMEOUT, win32.ERROR_DEV_NOT_EXIST, win32.ERROR_BAD_NET_NAME,
		win32.ERROR_NO_LOGON_SERVERS, win32.ERROR_IO_DEVICE, win32.ERROR_INTERNAL_ERROR, win32.ERROR_FILE_NOT_FOUND, 4711,
	}
	n.Faults.Calls() // forget
	rounds := attackFor(3*len(failures), func(round int) {
		failure := failures[round%len(failures)]
		n.Faults.Add(testnode.Fault{Function: "OpenFile", Times: 1, Error: failure})
		if err := mapShare(t.Context(), n, share, ""); err == nil {
			t.Errorf("%v: the failure was not noticed", failure)
		}
		if err := file.Information(win32.FileStandardInfo, make([]byte, 24)); err != nil {
			t.Fatalf("%v: the pod lost its file: %v", failure, err)
		}
		if err := mapShare(t.Context(), n, share, ""); err != nil {
			t.Errorf("after %v: %v", failure, err)
		}
		for _, call := range n.Faults.Calls() {
			if call.Function == "RemoveSMBGlobalMapping" || call.Function == "CreateSMBGlobalMapping" {
				t.Fatalf("%v: %s was called", failure, call.Function)
			}
		}
	})
	if got := n.Emulated.SMBContactsWithoutMapping(); got != 0 {
		t.Errorf("%d contacts without a mapping", got)
	}
	t.Logf("%d failures", rounds)
}

// Another program has mapped names that lead out of the working directories. Links to them are not followed, and the
// mapping can be removed.
func TestMappingsThatLeadBack(t *testing.T) {
	g := attack(t, testnode.Options{})
	for _, name := range []string{`localhost\share`, `127.0.0.1\share`, `fs.emulated\c$`, `fs.emulated\davwwwroot`} {
		server, shareName, _ := strings.Cut(name, `\`)
		noError(t, g.Emulated.AddSMBShare(server, shareName, nil))
		noError(t, g.Emulated.CreateSMBGlobalMapping(`\\`+name, "csi", kernel.Secret("csi-password"), true))
		link := pods + `\back`
		g.plant(link, symlink(`\??\UNC\`+name))
		_, err := g.Filesystem.Mkdir(t.Context(), &filesystem.MkdirRequest{Path: link + `\made`})
		wantCode(t, name, err, codes.FailedPrecondition)
		is, err := g.Filesystem.IsSymlink(t.Context(), &filesystem.IsSymlinkRequest{Path: link})
		if err != nil || is.GetIsSymlink() {
			t.Errorf("%s: the link leads somewhere: %v, %v", name, is, err)
		}
		_, err = g.SMB.RemoveSmbGlobalMapping(t.Context(), &smb.RemoveSmbGlobalMappingRequest{RemotePath: `\\` + name})
		noError(t, err)
		_, err = g.Filesystem.Rmdir(t.Context(), &filesystem.RmdirRequest{Path: link})
		noError(t, err)
	}
	if mappings, err := g.Emulated.SMBGlobalMappings(); err != nil || len(mappings) != 0 {
		t.Errorf("mappings: %v, %v", mappings, err)
	}
}
