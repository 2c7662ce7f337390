// SPDX-License-Identifier: Apache-2.0

// Package apis holds the tables of the API: an endpoint for each version of each group, whose methods lead to the
// node's operations. The methods of an old version lead to those of its group's hub, by the tables of client/versions.
package apis
