// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"google.golang.org/grpc/codes"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/client/reason"
)

// An argument is an argument of a command.
type argument struct {
	name     string // DISK
	optional bool
	kind
}

// A kind is the meaning that an argument's name has in all commands. Its functions get the arguments up to this one.
type kind struct {
	json   string // the field of a change's JSON that has it
	fields string // the field of a request that it sets: the first of these that the request has
	means  string // for the user
	lists  string // the command that lists the objects
	file   bool   // a file of this host
	// describe describes the object, as far as the agent's version allows. It fails if there is no such object.
	describe func(ctx context.Context, a *connection, args []string) ([]string, error)
}

func kinds() map[string]kind {
	return map[string]kind{
		"DISK": {json: "disk", fields: "disk_number", means: "the number or serial number of a disk", lists: "disk list",
			describe: describeDisk},
		"VOLUME": {json: "volume", fields: "volume_id", lists: "volume list",
			means: "the id of a volume, or a path at which it is mounted", describe: describeVolume},
		"PATH": {json: "path", fields: "path target_path local_path", describe: describePath,
			means: `a Windows path below a working directory of the agent, such as 'C:\var\lib\kubelet\pods'`},
		"SOURCE":  {json: "source", fields: "source_path", means: "the path or share that the link leads to"},
		"WINPATH": {json: "path", fields: "windows_path", means: `a path of the node, such as 'C:\var\lib\kubelet'`},
		"SHARE": {json: "share", fields: "remote_path", means: `a share, such as '\\server\share'`, lists: "smb list",
			describe: describeMapping},
		"PORTAL": {json: "portal", fields: "target_portal address", lists: "iscsi portal list",
			means: "the address of an iSCSI portal, such as 192.0.2.10 or 192.0.2.10:3260"},
		"TARGET": {json: "target", fields: "iqn target", means: "an iSCSI qualified name",
			lists: "iscsi portal discover PORTAL", describe: describeTarget},
		"SERVICE": {json: "service", fields: "name", lists: "system service list",
			means: "the name of a Windows service, such as MSiSCSI", describe: describeService},
		"SERVER":   {json: "server", fields: "server", means: "the name of a file server", lists: "node smb list"},
		"NAME":     {json: "share", fields: "share", means: "the name of a share of the file server", lists: "node smb list"},
		"USER":     {json: "user", fields: "user", means: "the name of an account of the file servers"},
		"ID":       {json: "id", fields: "id", means: "the id of a fault", lists: "node fault list"},
		"DIR":      {json: "directory", fields: "directory", means: "a directory of this host", file: true},
		"FILE":     {means: "a file of this host", file: true},
		"AUDITLOG": {means: "a file that csi-proxy -audit-log wrote", file: true},
	}
}

// command returns a command that takes arguments. Optional ones are in brackets and come last.
func (a *connection) command(name, short string, takes ...string) *cobra.Command {
	c := &cobra.Command{Use: strings.Join(append([]string{name}, takes...), " "), Short: short, Args: a.checkArguments}
	if len(takes) == 0 || !kinds()[takes[0]].file {
		c.ValidArgsFunction = cobra.NoFileCompletions
	}
	switch name {
	case "list":
		c.Aliases = []string{"ls"} // as gh, docker and helm have it
		fallthrough
	case "apis", "detached", "locations", "sessions": // the other lists
		c.Flags().BoolVar(&a.noHeaders, "no-headers", false, "print a table without its heads")
		c.Flags().BoolVarP(&a.watch, "watch", "w", false, "go on, and print the list again when it has changed, until "+
			"interrupted, or for as long as --timeout says")
	}
	for _, take := range takes {
		word := strings.Trim(take, "[]")
		a.takes[c] = append(a.takes[c], argument{word, word != take, kinds()[word]})
	}
	return c
}

// checkArguments checks the number of a command's arguments. Its errors explain the missing ones.
func (a *connection) checkArguments(c *cobra.Command, args []string) error {
	takes := a.takes[c]
	if len(args) > len(takes) {
		return fmt.Errorf("%s takes %d %s; %q is one too many", c.CommandPath(), len(takes),
			choose(len(takes) == 1, "argument", "arguments"), args[len(takes)])
	}
	var needed, meanings []string // all: it is not always the last one that is missing
	for _, of := range takes {
		if !of.optional {
			needed = append(needed, of.name)
			meanings = append(meanings, "\n  "+of.name+": "+of.means+of.listing())
		}
	}
	if len(args) < len(needed) {
		return errors.New(c.CommandPath() + " needs " + strings.Join(needed, " and ") + strings.Join(meanings, ""))
	}
	for i, text := range args {
		if unquoted(takes[i].name, text) {
			return fmt.Errorf("%s %q has no backslash where one belongs: a shell takes those that are not in quotes; write %s",
				takes[i].name, text, cmp.Or(map[string]string{"SHARE": `'\\server\share'`}[takes[i].name], `'C:\var\lib\kubelet'`))
		}
	}
	return nil
}

// unquoted reports whether a path looks as if a shell had taken its backslashes: C:varlib, \servershare.
func unquoted(name, text string) bool {
	switch name {
	case "SHARE":
		return strings.HasPrefix(text, `\`) && strings.Count(text, `\`) == 1
	case "PATH", "WINPATH", "SOURCE", "VOLUME":
		return len(text) > 2 && text[1] == ':' && !strings.ContainsAny(text, `\/`)
	}
	return false
}

// listing returns the end of an error's text: the command that lists the objects.
func (k kind) listing() string {
	if k.lists == "" {
		return ""
	}
	return "; csi-proxyctl " + k.lists + " lists them"
}

// isPath reports whether a text for a volume is a path, and not the volume's id.
func isPath(text string) bool { return len(text) > 1 && text[1] == ':' }

// resolved replaces serial numbers by disk numbers, mount paths by volume ids, and relative directories by absolute
// ones, because the agent has another current directory.
func (a *connection) resolved(c *cobra.Command, args []string) ([]string, error) {
	args = slices.Clone(args)
	for i, of := range a.takes[c][:len(args)] {
		var err error
		switch {
		case of.name == "DISK":
			args[i], err = a.diskNumber(c.Context(), args[i])
		case of.name == "VOLUME" && isPath(args[i]):
			args[i], err = a.volumeAt(c.Context(), args[i])
		case of.name == "DIR":
			args[i], err = filepath.Abs(args[i])
		case of.name == "PORTAL":
			_, err = parsePortal(args[i])
		}
		if err != nil {
			return nil, err
		}
	}
	return args, nil
}

func (a *connection) volumeAt(ctx context.Context, path string) (string, error) {
	r, err := invoke(ctx, a, csiproxy.VolumeClient.GetVolumeIDFromTargetPath,
		&csiproxy.GetVolumeIDFromTargetPathRequest{TargetPath: path})
	return r.GetVolumeId(), err
}

// diskNumber returns the number of the disk that has a number or a serial number. Its error names no similar number:
// those of a cloud differ in one letter, and the next one is another volume's.
func (a *connection) diskNumber(ctx context.Context, text string) (string, error) {
	if _, err := strconv.ParseUint(text, 10, 32); err == nil {
		return text, nil
	}
	r, err := invoke(ctx, a, csiproxy.DiskClient.ListDiskIDs, &csiproxy.ListDiskIDsRequest{})
	if err != nil {
		return "", err
	}
	var found []uint32
	for _, number := range slices.Sorted(maps.Keys(r.GetDiskIDs())) {
		if r.GetDiskIDs()[number].GetSerialNumber() == text {
			found = append(found, number)
		}
	}
	switch {
	case len(found) == 1:
		a.gaps = nil // they are about other disks
		return fmt.Sprint(found[0]), nil
	case len(found) > 1:
		return "", failedWith(codes.FailedPrecondition,
			fmt.Sprintf("the disks %v have the serial number %q; give a number", found, text))
	case len(a.gaps) > 0: // it may be one of those
		return "", failedWith(codes.Unavailable, fmt.Sprintf("no disk that answers has the serial number %q: %s", text,
			strings.Join(a.gaps, "; ")))
	}
	return "", failure{&csiproxy.Error{Code: codes.NotFound, Reason: reason.DiskNotFound,
		Message: fmt.Sprintf("no disk has the number or serial number %q", text)}}
}

// diskOf returns the disk number in the first argument, which is resolved.
func diskOf(args []string) uint32 {
	number, _ := strconv.ParseUint(args[0], 10, 32)
	return uint32(number)
}

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

func choose(yes bool, first, second string) string {
	if yes {
		return first
	}
	return second
}

const maxPassword = 4096

// passwordFlag adds the flag --password-file, with which the command must be called. The file is read into password.
func passwordFlag(c *cobra.Command, usage string, password *string) *cobra.Command {
	read := optionalPassword(c, usage, password)
	required(c, "password-file")
	return prepared(c, func([]string) error { return read() })
}

// optionalPassword adds the flag --password-file. read reads the file into password.
func optionalPassword(c *cobra.Command, usage string, password *string) (read func() error) {
	file := c.Flags().String("password-file", "", usage)
	return func() (err error) {
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
		// a link is followed: Kubernetes' secrets are links
		if info, err := os.Stat(file); err == nil && !info.Mode().IsRegular() {
			return "", fmt.Errorf("cannot read the password: %s is not a regular file; - reads standard input", file)
		}
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
