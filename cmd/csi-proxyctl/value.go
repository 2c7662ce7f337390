// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"os"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/internal/treeview"
)

// parsePortal reads a host, or a host and a port. An IPv6 address with a port is in brackets.
func parsePortal(text string) (*csiproxy.TargetPortal, error) {
	host, number, err := net.SplitHostPort(text)
	if err != nil {
		return &csiproxy.TargetPortal{TargetAddress: text}, nil //nolint:nilerr // no port
	}
	port, err := strconv.ParseUint(number, 10, 16)
	if err != nil || port == 0 {
		return nil, fmt.Errorf("%q is not a portal such as 192.0.2.10 or 192.0.2.10:3260", text)
	}
	return &csiproxy.TargetPortal{TargetAddress: host, TargetPort: uint32(port)}, nil
}

// portalText returns a portal as text, with its port.
func portalText(address string, port uint32) string {
	return net.JoinHostPort(address, strconv.FormatUint(uint64(cmp.Or(port, 3260)), 10))
}

// portalOf returns the portal in the first argument, which is checked.
func portalOf(args []string) *csiproxy.TargetPortal {
	portal, _ := parsePortal(args[0])
	return portal
}

// parseTime reads a time in the format of RFC 3339, or as a duration before now.
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

// A size is a flag that takes bytes, or a unit such as 20Gi.
type size int64

func (s *size) String() string { return strconv.FormatInt(int64(*s), 10) }
func (s *size) Type() string   { return "bytes" }

func (s *size) Set(text string) error {
	quantity, err := resource.ParseQuantity(strings.TrimSuffix(text, "B"))
	n, whole := quantity.AsInt64()
	if err != nil || !whole || n <= 0 {
		return fmt.Errorf("%q is not a size; write bytes, or a unit such as 20Gi", text)
	}
	*s = size(n)
	return nil
}

// volumesOf returns the volumes of a tree with their disks.
func volumesOf(tree *treeview.Tree) iter.Seq2[treeview.Disk, *treeview.Volume] {
	return func(yield func(treeview.Disk, *treeview.Volume) bool) {
		for _, d := range tree.Disks {
			for _, p := range d.Volumes() {
				if !yield(d, p.Volume) {
					return
				}
			}
		}
	}
}

// shortID returns a volume's id without the characters that need quotes: Volume{GUID}.
func shortID(id string) string {
	return strings.TrimSuffix(strings.TrimPrefix(id, `\\?\`), `\`)
}

// choose returns the first text if yes is true, and otherwise the second.
func choose(yes bool, first, second string) string {
	if yes {
		return first
	}
	return second
}

func onlineText(online bool) string { return choose(online, "online", "offline") }

// maxPassword limits the size of a password file.
const maxPassword = 4096

// passwordFlag adds the flag --password-file. read reads the file into password.
func passwordFlag(c *cobra.Command, usage string, password *string) (read func([]string) error) {
	file := c.Flags().String("password-file", "", usage)
	return func([]string) (err error) {
		if *password, err = readPassword(*file, c.InOrStdin()); err != nil {
			return failure{err}
		}
		return nil
	}
}

// readPassword reads a password from a file, or from stdin for "-". Errors do not contain it.
func readPassword(file string, stdin io.Reader) (string, error) {
	from := stdin
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return "", fmt.Errorf("cannot read the password: %w", err)
		}
		defer f.Close()
		from = f
	}
	text, err := io.ReadAll(io.LimitReader(from, maxPassword+1))
	if err != nil {
		return "", fmt.Errorf("cannot read the password: %w", err)
	}
	password := strings.TrimSuffix(strings.TrimSuffix(string(text), "\n"), "\r")
	switch {
	case password == "":
		return "", errors.New("the password is empty")
	case len(text) > maxPassword || !utf8.ValidString(password) || strings.ContainsAny(password, "\x00\n"):
		return "", fmt.Errorf("the password is not one line of at most %d bytes in UTF-8", maxPassword)
	}
	return password, nil
}
