// SPDX-License-Identifier: Apache-2.0

// Command release makes the files of a release, the same bytes from the same commit wherever it runs: binaries, archives,
// the Helm chart, a bill of materials for each archive, the licences of all that is linked, and checksums. It also checks
// these licences, and that two builds are the same.
package main
