// SPDX-License-Identifier: Apache-2.0

// Package csiproxy is the client that works with every CSI Proxy agent, whatever versions of the API it serves.
//
// A [Client] has one field for each API group, with the methods and messages of the group's newest version. The
// messages have names without a version here, such as [MountVolumeRequest], which stay when a newer version comes. On
// the first call of a group the Client connects to the newest version that the agent serves and, if that is an older
// one, translates. A call that an older version does not support is [ErrUnsupported], and the error names the version
// that does. All failures are [Error], whichever agent they come from:
//
//	client := csiproxy.New(csiproxy.Options{})
//	defer client.Close()
//	answer, err := client.Volume.GetVolumeIDFromTargetPath(ctx, &csiproxy.GetVolumeIDFromTargetPathRequest{TargetPath: staging})
//	if errors.Is(err, csiproxy.ErrNotMounted) {
//		…
//	}
//
// The packages under client/groups are the other way to call an agent: one for each version, without translation, with
// the names that drivers have always used.
package csiproxy
