// SPDX-License-Identifier: Apache-2.0

package transport

// An Identity is what the system says of a process besides its number and user, as of the moment when its connection was
// accepted. Empty fields are not known.
type Identity struct {
	SID       string // the user of its token, on Windows
	Elevated  bool   // the token is elevated, on Windows
	Container string // the container that it runs in: the name of its job object, on Linux its control group
}
