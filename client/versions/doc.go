// SPDX-License-Identifier: Apache-2.0

// Package versions maps the methods of all API versions to each other. Each group has one hub version, whose methods
// are implemented; a method of another version leads to one of those. Most have the same bytes on the wire and need no
// conversion; the others have a mapping. The agent converts from old to hub with it; a client that meets an old agent,
// from hub to old.
package versions
