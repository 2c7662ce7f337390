// SPDX-License-Identifier: Apache-2.0

//go:build !windows

package fileowner

import "os"

func makeDirectory(path string) error { return os.MkdirAll(path, 0o750) }
