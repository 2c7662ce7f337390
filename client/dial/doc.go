// SPDX-License-Identifier: Apache-2.0

// Package dial opens gRPC connections to the endpoints of a CSI Proxy agent:
// named pipes on Windows, unix sockets elsewhere. It is the one place where the
// clients of this module meet the operating system.
package dial
