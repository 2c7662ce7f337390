// SPDX-License-Identifier: Apache-2.0

// Package reliability proves that no data is lost, and that a driver's retry succeeds, whatever interrupts a call.
//
//   - crash kills the real agent again and again while drivers work.
//   - load has many drivers live at once on hundreds of disks, while kernel calls fail and are slow, the agent restarts
//     and the node reboots.
//   - sweep disturbs every kernel call of every method that changes something, one at a time in each way. An example's
//     undisturbed run shows which kernel calls there are, so a call that is added to an operation is disturbed without
//     anybody writing it down. What that run must leave is written in testdata/effects.txt.
//
// `make test-long` sets CSI_PROXY_LONG, which tries every point of the sweep instead of a sample, with more kills and a
// longer load. CSI_PROXY_LONG=all tries every point, CSI_PROXY_CRASHES and CSI_PROXY_SOAK set the number of kills and
// the duration of the load themselves:
//
//	CSI_PROXY_LONG=all go test -count=1 -v -run 'Sweep|HostFailures' ./test/reliability
//	CSI_PROXY_CRASHES=200 go test -count=1 -v -run Killed ./test/reliability
//	CSI_PROXY_SOAK=60s go test -count=1 -v -run Soak ./test/reliability
package reliability
