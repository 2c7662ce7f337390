// SPDX-License-Identifier: Apache-2.0

// Package winservice runs a program as a Windows service and installs it as one.
//
// All decisions are portable and tested everywhere: when each state is reported, what an installation changes. The
// calls of Windows are in small files of their own, whose names end in _windows.go.
package winservice
