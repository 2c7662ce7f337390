// SPDX-License-Identifier: Apache-2.0

// Package windows is the kernel of a real Windows node: each method makes the one system call that it is named after.
// It converts strings, grows buffers that Windows calls too small and wraps errors. It makes no decisions, so that a
// reader can check it against Microsoft's pages, to which the method or its binding in package winapi links. Off
// Windows there is none.
package windows
