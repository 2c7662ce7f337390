// SPDX-License-Identifier: Apache-2.0

package node

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winfs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winpath"
)

// SMB is the smb group: shares that the whole node can reach, and links to them.
type SMB struct{ node *Node }

var smbMethods = []Method{
	changes("NewSmbGlobalMapping", LimitWrite, (*SMB).NewSMBGlobalMapping, fields{
		"remote_path": NamesShare, "local_path": NamesPath, "username": NamesNothing, "password": NamesNothing,
	}),
	changes("RemoveSmbGlobalMapping", LimitWrite, (*SMB).RemoveSMBGlobalMapping, fields{"remote_path": NamesShare}),
}

// Secret is a password. Printing it never shows it.
type Secret = kernel.Secret

const (
	maxRemotePath = 1024 // characters; no driver comes close
	maxUserName   = 512
	maxPassword   = 512 // Windows' own limit is 256
)

// parseShare parses the remote path of a share that is to be mapped.
func parseShare(text string) (winpath.UNC, error) {
	share, err := parseRemote(text)
	if why := winfs.NotFileShare(share.Server, share.Share); err == nil && why != "" {
		err = invalidRemote(text, "%s", why)
	}
	return share, err
}

// parseRemote parses a remote path. It refuses names that were never those of a mapping.
func parseRemote(text string) (winpath.UNC, error) {
	if text == "" {
		return winpath.UNC{}, errdefs.InvalidArgument.Errorf(reason.InvalidRemotePath, "remote path is empty")
	}
	if utf8.RuneCountInString(text) > maxRemotePath {
		return winpath.UNC{}, invalidRemote(text, "it is longer than %d characters", maxRemotePath)
	}
	share, err := winpath.ParseUNC(text)
	if err != nil {
		return winpath.UNC{}, invalidRemote(text, "%v", err)
	}
	if why := winfs.NeverShare(share.Server, share.Share); why != "" {
		return winpath.UNC{}, invalidRemote(text, "%s", why)
	}
	return share, nil
}

func invalidRemote(text, format string, args ...any) error {
	return errdefs.InvalidArgument.Errorf(reason.InvalidRemotePath, "remote path (%s) is invalid: %s", winpath.Quote(text),
		fmt.Sprintf(format, args...))
}

// checkCredentials refuses texts that cannot be a user name or password. Empty ones matter only for a new mapping.
func checkCredentials(userName string, password Secret) error {
	switch {
	case !utf8.ValidString(userName) || strings.ContainsFunc(userName, unicode.IsControl) || len(userName) > maxUserName:
		return errdefs.InvalidArgument.Errorf(reason.InvalidCredentials,
			"the user name has a control character, is not valid UTF-8 or is longer than %d bytes", maxUserName)
	case !utf8.Valid(password) || bytes.IndexByte(password, 0) >= 0 || len(password) > maxPassword*utf8.UTFMax:
		return errdefs.InvalidArgument.Errorf(reason.InvalidCredentials,
			"the password has a NUL character, is not valid UTF-8 or is longer than %d characters", maxPassword)
	}
	return nil
}

// userHint returns an addition for user names that no account has.
func userHint(userName string) string {
	switch {
	case strings.TrimSpace(userName) != userName:
		return " (the user name begins or ends with a blank)"
	case strings.Contains(userName, "/") && !strings.Contains(userName, `\`):
		return " (the user name has a /: a domain user is DOMAIN\\user)"
	}
	return ""
}

// lineEndHint returns an addition for the commonest mistake in a Kubernetes secret.
func lineEndHint(secret Secret) string {
	if !bytes.HasSuffix(secret, []byte("\n")) {
		return ""
	}
	return " (which ends with a line end: encode the secret with echo -n or printf)"
}
