// SPDX-License-Identifier: Apache-2.0

// Package conventions_test holds what all folders keep: licences, names, borders, words. It belongs to the root's
// module, whose files Go looks at before it trusts an earlier result.
package conventions_test

import "testing"

// inRoot lets a test name files from the repository's root. Go sees that only of a test that runs.
func inRoot(t *testing.T) {
	t.Helper()
	t.Chdir("../..")
}
