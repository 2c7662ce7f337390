// SPDX-License-Identifier: Apache-2.0

//go:build !windows

package winservice

// Run runs a task as the Windows service that was started.
func Run(Task) error { return ErrNotWindows }

// Connect opens the Service Control Manager.
func Connect() (Manager, error) { return nil, ErrNotWindows }

// Own returns "": there is no service that this process works for.
func Own() string { return "" }

// Writers returns the accounts besides administrators that may change a file or directory.
func Writers(string, ...string) ([]string, error) { return nil, ErrNotWindows }
