// SPDX-License-Identifier: Apache-2.0

//go:build !windows

package winservice

// Run runs a task as the Windows service that was started.
func Run(Task) error { return ErrNotWindows }

// Connect opens the Service Control Manager.
func Connect() (Manager, error) { return nil, ErrNotWindows }

// Own returns "": there is no service that this process works for.
func Own() string { return "" }
