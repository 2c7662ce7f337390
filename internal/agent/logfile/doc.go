// SPDX-License-Identifier: Apache-2.0

// Package logfile writes a log to a file that is replaced when it grows large or old, and keeps some of the old files.
//
// A log must never stop the program that writes it: a full disk, a missing directory or a file that another process
// holds open costs lines at worst. They are counted, and the log itself says how many are missing.
package logfile
