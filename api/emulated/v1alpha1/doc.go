// SPDX-License-Identifier: Apache-2.0

// Package emulatedv1alpha1 is what an agent with an emulated node serves besides: the node's control, faults in its
// calls, and their journal.
package emulatedv1alpha1
