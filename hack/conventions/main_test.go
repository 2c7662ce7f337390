// SPDX-License-Identifier: Apache-2.0

// Package conventions_test holds what all folders keep: licences, names, borders, words. It belongs to the root's module,
// whose folders Go looks at before it trusts an earlier result.
package conventions_test

import (
	"log"
	"os"
	"testing"
)

// TestMain lets the tests name files from the repository's root.
func TestMain(m *testing.M) {
	if err := os.Chdir("../.."); err != nil {
		log.Fatal(err)
	}
	os.Exit(m.Run())
}
