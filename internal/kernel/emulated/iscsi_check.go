// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// checkPortals refuses a storage system that is not valid.
func checkPortals(portals []ISCSIPortalSpec) error {
	for i, p := range portals {
		if p.At.Address == "" || strings.ContainsAny(p.At.Address, " \t") || p.At.Port == 0 {
			return at(fmt.Errorf("%q port %d is not an address", p.At.Address, p.At.Port), "iscsiPortals", i)
		}
		if strings.ContainsAny(p.Advertises, " \t") {
			return at(fmt.Errorf("%q is not an address", p.Advertises), "iscsiPortals", i)
		}
		if slices.ContainsFunc(portals[:i], func(o ISCSIPortalSpec) bool { return o.At.same(p.At) }) {
			return at(fmt.Errorf("portal %s port %d appears twice", p.At.Address, p.At.Port), "iscsiPortals", i)
		}
		for j, t := range p.Targets {
			err := t.check()
			if slices.ContainsFunc(p.Targets[:j], func(o ISCSITargetSpec) bool { return o.Name == t.Name }) {
				err = fmt.Errorf("target %s appears twice", t.Name)
			}
			if err != nil {
				return at(err, "iscsiPortals", i, "targets", j)
			}
			for k, l := range t.LUNs {
				_, err := l.disk(0).record(nil, Switches{})
				if slices.ContainsFunc(t.LUNs[:k], func(o ISCSILUNSpec) bool { return o.LUN == l.LUN }) {
					err = fmt.Errorf("LUN %d appears twice", l.LUN)
				}
				if err != nil {
					return at(err, "iscsiPortals", i, "targets", j, "luns", k)
				}
			}
		}
	}
	return nil
}

func (t *ISCSITargetSpec) check() error {
	short := func(secret string) bool { return len(secret) < minCHAPSecret || len(secret) > maxCHAPSecret }
	switch {
	case t.Name == "" || strings.ToLower(t.Name) != t.Name || strings.ContainsAny(t.Name, " \t"):
		return fmt.Errorf("the name %q must be in lower case and without blanks", t.Name)
	case (t.Username == "") != (t.Secret == ""):
		return errors.New("a username needs a secret, and a secret a username")
	case t.Secret == "" && t.MutualSecret != "":
		return errors.New("a mutual secret needs a secret")
	case t.Secret != "" && short(t.Secret) || t.MutualSecret != "" && short(t.MutualSecret):
		return fmt.Errorf("a secret must have %d to %d bytes", minCHAPSecret, maxCHAPSecret)
	case t.PendingQueries < 0 || t.PendingQueries > mostQueries:
		return fmt.Errorf("pendingQueries must be from 0 to %d", mostQueries)
	}
	return nil
}
