// SPDX-License-Identifier: Apache-2.0

// Package adminv1alpha1 is the API of the admin endpoint, csiproxy-admin: what an agent serves and the storage tree of
// its node; and where that is an emulated one, its journal, its control and faults in its kernel calls.
package adminv1alpha1
