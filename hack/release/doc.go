// SPDX-License-Identifier: Apache-2.0

// Command release makes the archives of a release, the same bytes from the same commit wherever it runs, with a bill of
// materials and the licences of everything that is linked. It also checks these licences, and packs the Helm chart.
package main
