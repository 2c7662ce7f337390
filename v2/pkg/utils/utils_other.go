// SPDX-License-Identifier: Apache-2.0

//go:build !windows

package utils

import (
	"errors"
	"fmt"
)

var errNotWindows = fmt.Errorf("%w: this machine has no Windows paths", errors.ErrUnsupported)

func isPathValid(string) (bool, error)        { return false, errNotWindows }
func isMountedFolder(string) (bool, error)    { return false, errNotWindows }
func createSymlink(_, _ string, _ bool) error { return errNotWindows }
