// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	smb "github.com/kubernetes-csi/csi-proxy/client/api/smb/v1"
	"github.com/kubernetes-csi/csi-proxy/client/dial"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/testnode"
	"github.com/kubernetes-csi/csi-proxy/test/caller"
)

// The shares of the file server fs.invalid, as files of the machine: Wine looks for \\server\share below
// dosdevices/unc.
const (
	sharesFolder = `Z:\root\.wine\dosdevices\unc\fs.invalid`
	fileShare    = `\\fs.invalid\share`
	shareUser    = `DOMAIN\the:user`
	sharePass    = `p:a\ss"wörd`
)

// TestSMBOnThisMachine lives the life of mappings with the Windows kernel on the fake WMI, once for each version of the
// API, and checks after each call what WMI knows.
func TestSMBOnThisMachine(t *testing.T) {
	wmi := fakeWMI(t)
	for _, folder := range []string{`share\folder`, "other"} {
		caller.OK(t, os.MkdirAll(filepath.Join(sharesFolder, folder), 0o750))
	}
	t.Cleanup(func() { _ = os.RemoveAll(sharesFolder) })
	testnode.Launch(t, "-v=2")
	for _, version := range []string{"v1alpha1", "v1beta1", "v1beta2", "v1"} {
		t.Run(version, func(t *testing.T) {
			conn, err := dial.Open(t.Context(), `\\.\pipe\csi-proxy-smb-`+version, dial.Options{})
			caller.OK(t, err)
			defer func() { _ = conn.Close() }()
			l := &smbLife{t: t, conn: conn, version: version, wmi: wmiOf(t)}
			l.mappings()
			l.failures()
			if version == "v1" { // below the versions it is the same code
				l.credentials()
				l.codes()
				l.brokenService()
			}
			l.wmi.wantViolations()
			if !t.Failed() {
				for _, method := range []string{"NewSmbGlobalMapping", "RemoveSmbGlobalMapping"} {
					t.Logf("faked: smb %s %s: OK, fake WMI", version, method)
				}
			}
		})
	}
	t.Run("a service that hangs", func(t *testing.T) { hangingWMI(t, wmi) })
}

// A smbLife makes the calls of one version. All versions of a message have the same bytes.
type smbLife struct {
	t       *testing.T
	conn    *grpc.ClientConn
	version string
	wmi     *wmiFake
}

// invoke makes a call and returns its error. The versions that have an error field fail as the others do.
func (l *smbLife) invoke(ctx context.Context, method string, request, response proto.Message) error {
	return l.conn.Invoke(ctx, fmt.Sprintf("/%s.Smb/%s", l.version, method), request, response)
}

// create maps a share, which must end with a code.
func (l *smbLife) create(want codes.Code, remote, user, password string) {
	l.t.Helper()
	request := &smb.NewSmbGlobalMappingRequest{RemotePath: remote, Username: user, Password: password}
	err := l.invoke(l.t.Context(), "NewSmbGlobalMapping", request, &smb.NewSmbGlobalMappingResponse{})
	if got := status.Code(err); got != want {
		l.t.Fatalf("mapping %s: got %v (%v), want %v", remote, got, err, want)
	}
	if err != nil && strings.Contains(err.Error(), password) {
		l.t.Errorf("the password is in the error: %v", err)
	}
}

// remove unmaps a share, which must end with a code.
func (l *smbLife) remove(want codes.Code, remote string) {
	l.t.Helper()
	err := l.invoke(l.t.Context(), "RemoveSmbGlobalMapping", &smb.RemoveSmbGlobalMappingRequest{RemotePath: remote},
		&smb.RemoveSmbGlobalMappingResponse{})
	if got := status.Code(err); got != want {
		l.t.Fatalf("unmapping %s: got %v (%v), want %v", remote, got, err, want)
	}
}

// known returns what WMI knows of each mapping, by its remote path.
func (l *smbLife) known() map[string]map[string]string {
	all := map[string]map[string]string{}
	for _, text := range strings.Split(l.wmi.read("state.txt"), "SmbGlobalMapping\n") {
		facts := map[string]string{}
		for _, line := range strings.Split(text, "\n") {
			if name, value, found := strings.Cut(line, "="); found {
				facts[name] = value
			}
		}
		if len(facts) > 0 {
			all[facts["RemotePath"]] = facts
		}
	}
	return all
}

// wantMapping fails the test unless the shares are all that is mapped, with the user and encrypted.
func (l *smbLife) wantMappings(shares ...string) {
	l.t.Helper()
	known := l.known()
	if len(known) != len(shares) {
		l.t.Fatalf("%q are mapped, want %q", known, shares)
	}
	for _, path := range shares {
		want := map[string]string{
			"RemotePath": path, "LocalPath": "", "UserName": shareUser, "Password": sharePass, "Persistent": "false",
			"RequirePrivacy":   "true",
			"RequireIntegrity": "false", "UseWriteThrough": "false", "FullAccess": "", "DenyAccess": "", "Status": "0",
		}
		if !maps.Equal(known[path], want) {
			l.t.Fatalf("mapped: %q, want %q", known[path], want)
		}
	}
}

// world sets the orders, after the shares that every world has, and forgets the calls.
func (l *smbLife) world(orders ...string) {
	l.t.Helper()
	user := ` ` + shareUser + ` ` + sharePass
	l.wmi.world(append([]string{"share " + fileShare + user, `share \\fs.invalid\other` + user,
		`share \\away.invalid\share` + user}, orders...)...)
	l.wmi.takeCalls("")
}

func (l *smbLife) mappings() {
	l.world()
	l.wmi.write("state.txt") // whatever a life that failed has left
	l.create(codes.OK, fileShare, shareUser, sharePass)
	l.wantMappings(fileShare)
	if n := len(l.wmi.takeCalls("ExecMethod MSFT_SmbGlobalMapping Create")); n != 1 {
		l.t.Errorf("created %d times", n)
	}
	// Again, with other credentials, written otherwise and for a folder: the mapping works, so it stays as it is.
	l.create(codes.OK, fileShare, shareUser, sharePass)
	l.create(codes.OK, fileShare, "somebody", "else")
	l.create(codes.OK, `\\FS.invalid\SHARE\`, shareUser, sharePass)
	l.create(codes.OK, fileShare+`\folder`, shareUser, sharePass)
	if n := len(l.wmi.takeCalls("ExecMethod")); n != 0 {
		l.t.Errorf("a mapping that works was changed %d times", n)
	}
	l.create(codes.OK, `\\fs.invalid\other`, shareUser, sharePass)
	l.wantMappings(fileShare, `\\fs.invalid\other`)

	l.world(`open ` + fileShare) // files are open: it goes all the same
	l.remove(codes.OK, `\\FS.INVALID\share`)
	l.wantMappings(`\\fs.invalid\other`)
	l.remove(codes.OK, fileShare) // again
	l.remove(codes.OK, `\\fs.invalid\other`)
	l.wantMappings()
	if n := len(l.wmi.takeCalls("ExecMethod")); n != 2 {
		l.t.Errorf("%d methods, want 2: what is not mapped is not removed", n)
	}
}

// Mappings that are there but do not work, and those that another program made.
func (l *smbLife) credentials() {
	l.world()
	stale := []string{"SmbGlobalMapping", "LocalPath=", "RemotePath=" + fileShare, "UserName=", "Password=", "Status=2"}
	l.wmi.write("state.txt", stale...) // a mapping that lost its credentials at a restart
	l.create(codes.OK, fileShare, shareUser, sharePass)
	l.wantMappings(fileShare)
	// one set of credentials for each server
	l.create(codes.FailedPrecondition, `\\fs.invalid\other`, "somebody", "else"+sharePass)
	l.wantMappings(fileShare)
	l.remove(codes.OK, fileShare)

	// A drive letter and a trailing backslash are other programs' ways to write a mapping.
	l.wmi.write("state.txt", "SmbGlobalMapping", "LocalPath=G:", `RemotePath=\\fs.invalid\share`, "UserName=x",
		"Password=y", "Status=0")
	l.create(codes.OK, fileShare, shareUser, sharePass)
	l.remove(codes.OK, fileShare)
	l.wantMappings()
}

func (l *smbLife) failures() {
	l.world()
	l.create(codes.Unauthenticated, fileShare, shareUser, "not-"+sharePass)
	l.create(codes.Unauthenticated, fileShare, "not-"+shareUser, sharePass)
	l.create(codes.NotFound, `\\fs.invalid\none`, shareUser, sharePass)
	l.create(codes.Unavailable, `\\none.invalid\share`, shareUser, sharePass)
	l.wantMappings()
}

// A code of Windows, which the caller of WMI gets as the HRESULT of the call, or as the return value of the method.
func (l *smbLife) codes() {
	const create = "error MSFT_SmbGlobalMapping.Create "
	l.world(create + "67")
	l.create(codes.NotFound, fileShare, shareUser, sharePass)
	l.world(create+"53", "failures return")
	l.create(codes.Unavailable, fileShare, shareUser, sharePass)
	l.wantMappings()
}

func (l *smbLife) brokenService() {
	const create = "ExecMethod MSFT_SmbGlobalMapping Create"
	// The service was started again: old connections are dead, new ones work, and callers notice nothing.
	for run, call := range []func(){
		func() { l.create(codes.OK, fileShare, shareUser, sharePass) },
		func() { l.remove(codes.OK, fileShare) },
	} {
		l.world(fmt.Sprintf("service run %d", run+1))
		call()
	}
	l.wantMappings()

	// It is gone, as long as it is.
	l.world("service lost")
	l.create(codes.Unavailable, fileShare, shareUser, sharePass)
	l.remove(codes.Unavailable, fileShare)
	l.world()
	l.create(codes.OK, fileShare, shareUser, sharePass)
	l.remove(codes.OK, fileShare)

	// The service stopped during a method. The method may have run, so it is not repeated.
	for _, code := range []string{"800706BE", "80010108"} {
		l.world("fail ExecMethod " + code + " 1")
		l.create(codes.Unavailable, fileShare, shareUser, sharePass)
		if n := len(l.wmi.takeCalls(create)); n != 1 {
			l.t.Errorf("Create was called %d times after %s", n, code)
		}
	}

	// It is too busy to begin: the caller may try again.
	for _, fault := range []string{
		"fail ExecMethod 80010001 1", // RPC_E_CALL_REJECTED
		"fail ExecMethod 8001010A 1", // RPC_E_SERVERCALL_RETRYLATER
		"fail ExecMethod 80041045 1", // WBEM_E_SERVER_TOO_BUSY
	} {
		l.world(fault)
		l.create(codes.Unavailable, fileShare, shareUser, sharePass)
		l.create(codes.OK, fileShare, shareUser, sharePass)
		l.remove(codes.OK, fileShare)
	}

	// It is slow: the call takes its time and ends well.
	l.world("slow ConnectServer 20", "slow Next 20", "slow GetObject 20", "slow ExecMethod 50")
	l.create(codes.OK, fileShare, shareUser, sharePass)
	l.wantMappings(fileShare)
	l.remove(codes.OK, fileShare)
	l.world()
}

// hangingWMI lets a method hang. The caller gets its deadline, calls about other servers go on, and once the method
// ends, the mapping is there for the next caller.
func hangingWMI(t *testing.T, wmi *wmiFake) {
	conn, err := dial.Open(t.Context(), `\\.\pipe\csi-proxy-smb-v1`, dial.Options{})
	caller.OK(t, err)
	defer func() { _ = conn.Close() }()
	l := &smbLife{t: t, conn: conn, version: "v1", wmi: wmi}
	l.wmi.write("state.txt")
	l.world("hang ExecMethod X")
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	request := &smb.NewSmbGlobalMappingRequest{RemotePath: fileShare, Username: shareUser, Password: sharePass}
	if err := l.invoke(ctx, "NewSmbGlobalMapping", request, &smb.NewSmbGlobalMappingResponse{}); status.Code(
		err) != codes.DeadlineExceeded {
		t.Errorf("a method that hangs: %v", err)
	}
	l.wantMappings()
	l.remove(codes.OK, `\\away.invalid\share`) // asks WMI for its list
	l.world()
	l.create(codes.OK, fileShare, shareUser, sharePass) // joins the one that hung, or finds its mapping
	l.wantMappings(fileShare)
	l.remove(codes.OK, fileShare)
}
