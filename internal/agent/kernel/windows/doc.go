// SPDX-License-Identifier: Apache-2.0

// Package windows is the kernel of a real Windows node: each method makes the one system call that it is named after.
// It converts strings, grows buffers and wraps errors. It decides nothing: a reader can check it against Microsoft's
// pages, which the method or its binding in package winapi names. Off Windows there is none.
package windows
