// SPDX-License-Identifier: Apache-2.0

package winservice

import "errors"

var (
	// ErrNotService means that the process was not started by the Service Control Manager.
	ErrNotService = errors.New("this process was not started by the Windows Service Control Manager")
	// ErrNotWindows means that there is no Service Control Manager here.
	ErrNotWindows = errors.New("there are no Windows services here")
)
