// SPDX-License-Identifier: Apache-2.0

// Package negotiation tests the client that works with every agent against agents that serve some versions only, come
// and go, and change what they serve.
package negotiation
