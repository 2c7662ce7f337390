// SPDX-License-Identifier: Apache-2.0

// Package process tests the commands as processes, on the sockets or pipes that drivers find: drivers that live through
// an upgrade and a downgrade of the agent, and on Windows what an agent does with the machine's own names.
package process
