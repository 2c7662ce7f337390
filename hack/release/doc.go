// SPDX-License-Identifier: Apache-2.0

// Command release makes the archives of a release, with a bill of materials and the licences of everything that is
// linked. The same commit gives the same bytes on any machine. It also checks the licences.
package main
