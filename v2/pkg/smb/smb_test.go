// SPDX-License-Identifier: Apache-2.0

package smb_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/filesystem"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/smb"
)

// fake is a driver's own machine for its tests.
type fake struct {
	filesystem.Interface // only PathValid is called
	mapped, valid        bool
	broken               string // the call that fails
	calls                []string
}

var errBroken = errors.New("broken")

func (f *fake) called(name string, args ...any) error {
	f.calls = append(f.calls, name+fmt.Sprintf("%v", args))
	if name == f.broken {
		return errBroken
	}
	return nil
}

func (f *fake) PathValid(_ context.Context, r *filesystem.PathValidRequest) (*filesystem.PathValidResponse, error) {
	return &filesystem.PathValidResponse{Valid: f.valid}, f.called("PathValid", r.Path)
}

func (f *fake) IsSMBMapped(remotePath string) (bool, error) {
	return f.mapped, f.called("IsSMBMapped", remotePath)
}

func (f *fake) NewSMBLink(remotePath, localPath string) error {
	return f.called("NewSMBLink", remotePath, localPath)
}

func (f *fake) NewSMBGlobalMapping(remotePath, username, password string) error {
	return f.called("NewSMBGlobalMapping", remotePath, username, password)
}

func (f *fake) RemoveSMBGlobalMapping(remotePath string) error {
	return f.called("RemoveSMBGlobalMapping", remotePath)
}

func TestNewSMBGlobalMappingDoesWhatIsLeftToDo(t *testing.T) {
	const (
		remote = `//Server/Share/Dir`
		local  = `C:\link`
		ask    = `IsSMBMapped[\\server\share]`
		valid  = `PathValid[\\server\share]`
		remove = `RemoveSMBGlobalMapping[\\server\share]`
		add    = `NewSMBGlobalMapping[\\server\share user password]`
		link   = `NewSMBLink[\\Server\Share\Dir C:\link]`
	)
	for _, c := range []struct {
		name          string
		fake          fake
		remote, local string
		want          []string
		code          codes.Code
	}{
		{"new", fake{}, remote, local, []string{ask, add, link}, codes.OK},
		{"another spelling", fake{}, `\Server/\Share\\Dir`, local, []string{ask, add, link}, codes.OK},
		{"no link", fake{}, remote, "", []string{ask, add}, codes.OK},
		{"mapped", fake{mapped: true, valid: true}, remote, local, []string{ask, valid, link}, codes.OK},
		{"password changed", fake{mapped: true}, remote, local, []string{ask, valid, remove, add, link}, codes.OK},
		{"mapping fails", fake{broken: "NewSMBGlobalMapping"}, remote, local, []string{ask, add}, codes.Unknown},
		{"asking fails", fake{broken: "PathValid", mapped: true}, remote, local, []string{ask, valid}, codes.Unknown},
		{"removing fails", fake{broken: "RemoveSMBGlobalMapping", mapped: true}, remote, local,
			[]string{ask, valid, remove}, codes.Unknown},
		{"no remote path", fake{}, "", local, nil, codes.InvalidArgument},
		{"no share", fake{}, `\\server`, local, nil, codes.InvalidArgument},
		{"bad local path", fake{}, remote, `C:\a\..\b`, nil, codes.InvalidArgument},
	} {
		t.Run(c.name, func(t *testing.T) {
			shares, err := smb.New(&c.fake, &c.fake)
			if err != nil {
				t.Fatal(err)
			}
			_, err = shares.NewSMBGlobalMapping(t.Context(), &smb.NewSMBGlobalMappingRequest{RemotePath: c.remote,
				LocalPath: c.local, Username: "user", Password: "password"})
			if status.Code(err) != c.code {
				t.Errorf("got %v, want %v", err, c.code)
			}
			if diff := cmp.Diff(c.fake.calls, c.want); diff != "" {
				t.Errorf("calls (-got +want):\n%s", diff)
			}
		})
	}
}

func TestRemoveSMBGlobalMapping(t *testing.T) {
	f := &fake{}
	shares, err := smb.New(f, nil)
	if err != nil {
		t.Fatal(err)
	}
	for remote, want := range map[string]codes.Code{`\\Server\Share\Dir\`: codes.OK, `\\server`: codes.InvalidArgument,
		``: codes.InvalidArgument} {
		if _, err := shares.RemoveSMBGlobalMapping(t.Context(),
			&smb.RemoveSMBGlobalMappingRequest{RemotePath: remote}); status.Code(err) != want {
			t.Errorf("removing %q: %v, want %v", remote, err, want)
		}
	}
	if diff := cmp.Diff(f.calls, []string{`RemoveSMBGlobalMapping[\\server\share]`}); diff != "" {
		t.Errorf("calls (-got +want):\n%s", diff)
	}
}

// TestWithoutFilesystem: a mapping counts as good if it cannot be checked.
func TestWithoutFilesystem(t *testing.T) {
	f := &fake{mapped: true}
	shares, err := smb.New(f, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := shares.NewSMBGlobalMapping(t.Context(),
		&smb.NewSMBGlobalMappingRequest{RemotePath: `\\server\share`}); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(f.calls, []string{`IsSMBMapped[\\server\share]`}); diff != "" {
		t.Errorf("calls (-got +want):\n%s", diff)
	}
}
