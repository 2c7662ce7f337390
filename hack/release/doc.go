// SPDX-License-Identifier: Apache-2.0

// Command release makes the archives of a release, with a bill of materials and the licences of everything that is
// linked. The same commit gives the same bytes on any machine. It also checks the licences.
//
// goreleaser brings 898 modules to save a hundred lines, and writes neither bills nor licences; go-licenses has no
// release. Hundreds of modules that no maintainer reads would stand between the sources and what nodes run as SYSTEM.
package main
