// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/windows"

	"github.com/kubernetes-csi/csi-proxy/internal/winservice"
)

// notFollowing makes CreateFileW open a reparse point itself.
const notFollowing = windows.O_FILE_FLAG_OPEN_REPARSE_POINT

// guardFile refuses a reparse point that Go takes for a regular file, and a file that others can change.
func guardFile(file *os.File, _ fs.FileInfo) error {
	var information windows.ByHandleFileInformation
	if err := windows.GetFileInformationByHandle(windows.Handle(file.Fd()), &information); err != nil {
		return &fs.PathError{Op: "GetFileInformationByHandle", Path: file.Name(), Err: err}
	}
	if information.FileAttributes&windows.FILE_ATTRIBUTE_REPARSE_POINT != 0 {
		return notRegular(file.Name())
	}
	return changedByNobody(file.Name(), file.Name())
}

// guardDirectory looks at a directory. In the root of a drive, Windows lets users make new directories and files, but
// not replace those that are there; neither may they in the directories of a fresh installation, such as
// C:\ProgramData.
func guardDirectory(policy, dir string, _ fs.FileInfo) error {
	if dir == filepath.Dir(dir) || strings.EqualFold(dir, os.Getenv("ProgramData")) {
		return nil
	}
	return changedByNobody(policy, dir)
}

func changedByNobody(policy, path string) error {
	user, err := windows.GetCurrentProcessToken().GetTokenUser()
	if err != nil {
		return err
	}
	who, err := winservice.Writers(path, user.User.Sid.String()) // the agent's own user may be trusted
	if err != nil {
		return fmt.Errorf("the policy %s is refused: it cannot be found out who may change it: %w", policy, err)
	}
	if len(who) > 0 {
		return fmt.Errorf("the policy %s is refused: %s can be changed by %s; let only administrators change it", policy,
			path, strings.Join(who, ", "))
	}
	return nil
}
