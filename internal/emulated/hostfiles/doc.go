// SPDX-License-Identifier: Apache-2.0

// Package hostfiles changes the files of the host in steps that a death of the process may come between, and shows them
// as NTFS does: names in any case, reparse points, attributes.
package hostfiles
