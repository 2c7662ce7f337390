// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"crypto/rand"
	"encoding/hex"
)

// NodeVariable names the environment variable that chooses the node of tests: windows is the machine that they run on,
// which they may change; nothing is an emulated node.
const NodeVariable = "CSI_PROXY_TEST_NODE"

// Unavailable is the reason why something cannot be had on a machine.
type Unavailable string

func (u Unavailable) Error() string { return string(u) }

// A Share is a share that the machine can map.
type Share struct {
	Remote         string // \\server\share
	User, Password string

	Remark string // by which it is known to be the tests'
}

// GrownInPlace is how a disk grew that was there all the time.
const GrownInPlace = "in place"

// RandomName returns a name that nothing has. It has 19 characters, of the 20 of an account's, in lower case.
func RandomName() string { return "csiproxy-" + random(5) }

// random returns so many random bytes in hexadecimal.
func random(bytes int) string {
	b := make([]byte, bytes)
	_, _ = rand.Read(b) // it never fails
	return hex.EncodeToString(b)
}
