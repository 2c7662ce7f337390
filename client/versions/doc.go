// SPDX-License-Identifier: Apache-2.0

// Package versions says where every method of every API version lives. Each group has one hub version, whose methods
// mean something; a method of another version leads to one of those. Most have the same bytes on the wire and need
// nothing; the others have a mapping. The agent goes from old to hub with it, a client that meets an old agent from hub
// to old.
package versions
