// SPDX-License-Identifier: Apache-2.0

package node

// System is the system group: the firmware's facts about the machine, and Windows services. A service is named by its
// service name, not its display name; upper and lower case are the same.
type System struct{ node *Node }

var systemMethods = []Method{
	reads("GetBIOSSerialNumber", (*System).GetBIOSSerialNumber, nil),
	reads("GetService", (*System).GetService, fields{"name": NamesService}),
	changes("StartService", LimitWrite, (*System).StartService, fields{"name": NamesService}),
	changes("StopService", LimitWrite, (*System).StopService, fields{"name": NamesService}),
}
