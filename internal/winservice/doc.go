// SPDX-License-Identifier: Apache-2.0

// Package winservice runs a program as a Windows service and installs it as one.
//
// What is decided is portable and tested everywhere: when which state is reported, what an installation changes, whom
// a directory's access list lets write. What calls Windows is one small file each: run_windows.go, scm_windows.go,
// events_windows.go and acl_windows.go.
package winservice
