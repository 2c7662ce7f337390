// SPDX-License-Identifier: Apache-2.0

//go:build !windows

package winservice

import "errors"

// errNotWindows means that there is no Service Control Manager here.
var errNotWindows = errors.New("there are no Windows services here")

// Run runs a task as the Windows service that was started.
func Run(Task) error { return errNotWindows }

// Connect opens the Service Control Manager.
func Connect() (Manager, error) { return nil, errNotWindows }

// Own returns "": there is no service that this process works for.
func Own() string { return "" }

// Started returns false.
func Started() bool { return false }
