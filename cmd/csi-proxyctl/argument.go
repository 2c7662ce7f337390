// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	iscsiapi "github.com/kubernetes-csi/csi-proxy/client/api/iscsi/v1alpha2"
	"github.com/kubernetes-csi/csi-proxy/internal/treeview"
)

// placeholders returns the arguments that a command's use names, in capitals: for "mount VOLUME PATH", VOLUME and PATH.
func placeholders(use string) (names []string) {
	for _, word := range strings.Fields(use)[1:] {
		if !unicode.IsUpper(rune(word[0])) {
			break // a flag
		}
		names = append(names, word)
	}
	return names
}

// takeArguments makes a storage command check its arguments before anything is called, and complete them, by their names
// in its use. A command that has its own check keeps it.
func (a *connection) takeArguments(c *cobra.Command) {
	names := placeholders(c.Use)
	if c.Args == nil {
		c.Args = func(c *cobra.Command, args []string) error {
			if err := cobra.ExactArgs(len(names))(c, args); err != nil || len(args) == 0 {
				return err
			}
			var err error
			switch names[0] {
			case "DISK":
				_, err = parseDisk(args[0])
			case "PORTAL":
				_, err = parsePortal(args[0])
			}
			return err
		}
	}
	a.completeArguments(c, names)
}

// parseDisk reads the number of a disk.
func parseDisk(text string) (uint32, error) {
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		return 0, fmt.Errorf("%q is not a disk number such as 1; csi-proxyctl disk list lists the disks", text)
	}
	return uint32(n), nil
}

// diskOf returns the number of a disk in the first argument, which has been checked.
func diskOf(args []string) uint32 {
	number, _ := parseDisk(args[0])
	return number
}

// parsePortal reads a host, or a host and a port. An IPv6 address with a port is in brackets.
func parsePortal(text string) (*iscsiapi.TargetPortal, error) {
	if strings.Count(text, ":") != 1 && !strings.HasPrefix(text, "[") {
		return &iscsiapi.TargetPortal{TargetAddress: text}, nil
	}
	host, number, err := net.SplitHostPort(text)
	port := uint64(0)
	if err == nil {
		port, err = strconv.ParseUint(number, 10, 16)
	}
	if err != nil || port == 0 {
		return nil, fmt.Errorf("%q is not a portal such as 192.0.2.10 or 192.0.2.10:3260", text)
	}
	return &iscsiapi.TargetPortal{TargetAddress: host, TargetPort: uint32(port)}, nil
}

// portalOf returns the portal in the first argument, which has been checked.
func portalOf(args []string) *iscsiapi.TargetPortal {
	portal, _ := parsePortal(args[0])
	return portal
}

// parseTime reads a point in time: in the format of RFC 3339, or as a duration before now.
func parseTime(text string) (time.Time, error) {
	if ago, err := time.ParseDuration(text); err == nil && ago >= 0 {
		return time.Now().Add(-ago), nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return at, fmt.Errorf("%q is neither a time such as 2026-01-31T12:00:00Z nor a duration such as 30s", text)
	}
	return at, nil
}

// size is a flag that takes bytes, or a unit such as 20Gi.
type size int64

func (s *size) String() string { return strconv.FormatInt(int64(*s), 10) }
func (s *size) Type() string   { return "bytes" }

func (s *size) Set(text string) error {
	n, err := treeview.ParseSize(text)
	*s = size(n)
	return err
}
