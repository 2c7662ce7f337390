// SPDX-License-Identifier: Apache-2.0

// Package adminv1alpha1 is what every agent serves at the admin endpoint, csiproxy-admin: its APIs, the storage tree of
// its node and the node's troubles.
package adminv1alpha1
