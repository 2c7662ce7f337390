// SPDX-License-Identifier: Apache-2.0

package emulation

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/kubernetes-csi/csi-proxy/internal/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/kernel/emulated"
	"github.com/kubernetes-csi/csi-proxy/internal/win32"
)

func invalid(format string, args ...any) error {
	return &errdefs.Error{Class: errdefs.InvalidArgument, Reason: "INVALID_ARGUMENT",
		Message: fmt.Sprintf(format, args...)}
}

// controlError classifies an error of controlling the emulated node.
func controlError(err error) error {
	if err == nil {
		return nil
	}
	class, reason := errdefs.FailedPrecondition, "NOT_POSSIBLE"
	switch {
	case isAny(err, emulated.ErrNoSuchDisk, emulated.ErrNoSuchSMB, emulated.ErrNoSuchISCSI, emulated.ErrNoSuchService,
		emulated.ErrNoSuchSwitch,
		win32.ERROR_FILE_NOT_FOUND, win32.ERROR_PATH_NOT_FOUND, fs.ErrNotExist):
		class, reason = errdefs.NotFound, "NOT_FOUND"
	case isAny(err, emulated.ErrInvalidSpec, emulated.ErrInvalidSMB, emulated.ErrInvalidService, emulated.ErrInvalidSwitch,
		emulated.ErrInvalidClock,
		win32.ERROR_INVALID_PARAMETER, win32.ERROR_INVALID_NAME):
		class, reason = errdefs.InvalidArgument, "INVALID_ARGUMENT"
	}
	return &errdefs.Error{Class: class, Reason: reason, Message: err.Error(), Err: err}
}

func isAny(err error, targets ...error) bool {
	return slices.ContainsFunc(targets, func(target error) bool { return errors.Is(err, target) })
}
