// SPDX-License-Identifier: Apache-2.0

// Package question reads a policy and what a person asks of it: may this client call that method?
package question

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/methods"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/policy"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/transport"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

// ReadPolicy reads a policy file, whatever accounts may change it. The path may be a link, as in a container.
func ReadPolicy(path string) (*policy.Policy, error) {
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, err
	}
	return policy.Read(path)
}

// ParseClient reads what the system says of a client, each text a FIELD=VALUE. On Windows, a client is not in a
// container unless one is named.
func ParseClient(texts []string) (transport.Peer, error) {
	var peer transport.Peer
	for _, text := range texts {
		field, value, ok := strings.Cut(text, "=")
		var err error
		switch field {
		case "uid":
			var uid uint64
			uid, err = strconv.ParseUint(value, 10, 31)
			peer.UID = new(int(uid))
		case "sid":
			peer.SID = value
			_, err = win32.ParseSID(value)
		case "elevated":
			peer.Elevated, err = strconv.ParseBool(value)
		case "image":
			peer.Image = value
		case "container", "cgroup":
			peer.Container = value
		default:
			ok = false
		}
		if !ok || err != nil || value == "" {
			return peer, fmt.Errorf("%q is not what the system says of a client, such as uid=1000, cgroup=/kubepods/a, "+
				"sid=S-1-5-18, elevated=true, image=C:\\driver.exe or container=none", text)
		}
	}
	if peer.UID == nil && peer.Container == "" {
		peer.Container = transport.NoContainer
	}
	return peer, nil
}

// ParseMethod returns the path on the wire of a method, GROUP/VERSION/METHOD.
func ParseMethod(text string) (path string, err error) {
	m, err := methods.Parse(text)
	if err != nil {
		return "", err
	}
	all := slices.DeleteFunc(policy.Methods(), func(path string) bool { return !m.Match(path) })
	if len(all) != 1 {
		return "", fmt.Errorf("%q is not one method of the API, such as volume/v1/FormatVolume", text)
	}
	return all[0], nil
}
