// SPDX-License-Identifier: Apache-2.0

// Package apiversion parses and orders the version names of API groups, such as v1, v1beta3 and v2alpha1.
package apiversion

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"sync"
)

// A Version is one parsed version name. Versions are comparable with ==, which agrees with Compare for versions made by
// NewVersion. The zero Version is no version: it prints as the empty string and orders before all others.
type Version struct {
	major     uint64
	stability stability
	minor     uint64
}

// stability is the middle part of a version name, in order of maturity.
type stability int

const (
	alpha stability = iota
	beta
	stable
)

// namePattern is the grammar of Kubernetes API versions; numbers have no leading zeros: each version has one spelling.
// https://kubernetes.io/docs/reference/using-api/#api-versioning
var namePattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^v([1-9][0-9]*)(?:(alpha|beta)([1-9][0-9]*))?$`)
})

// NewVersion parses a name such as v1, v1beta2 or v2alpha1, and fails on any other text and on numbers above 64 bits.
func NewVersion(name string) (version Version, err error) {
	parts := namePattern().FindStringSubmatch(name)
	if parts == nil {
		return Version{}, fmt.Errorf("parse API version %q: want v<number>, optionally followed by alpha<number> or "+
			"beta<number>", name)
	}
	if version.major, err = strconv.ParseUint(parts[1], 10, 64); err != nil {
		return Version{}, fmt.Errorf("parse API version %q: %w", name, err)
	}
	switch parts[2] {
	case "alpha":
		version.stability = alpha
	case "beta":
		version.stability = beta
	default:
		version.stability = stable
		return version, nil
	}
	if version.minor, err = strconv.ParseUint(parts[3], 10, 64); err != nil {
		return Version{}, fmt.Errorf("parse API version %q: %w", name, err)
	}
	return version, nil
}

// NewVersionOrPanic is NewVersion for names that are constants of a program. It panics where NewVersion fails.
func NewVersionOrPanic(name string) Version {
	version, err := NewVersion(name)
	if err != nil {
		panic(err) //nolint:forbidigo // the documented contract of this function; for package-level constants only
	}
	return version
}

// IsValidVersion reports whether NewVersion accepts name.
func IsValidVersion(name string) bool {
	_, err := NewVersion(name)
	return err == nil
}

// String returns the name that NewVersion parsed.
func (v Version) String() string {
	switch {
	case v == Version{}:
		return ""
	case v.stability == alpha:
		return fmt.Sprintf("v%dalpha%d", v.major, v.minor)
	case v.stability == beta:
		return fmt.Sprintf("v%dbeta%d", v.major, v.minor)
	}
	return fmt.Sprintf("v%d", v.major)
}

// A Comparison says how one Version orders relative to another.
type Comparison int

// The results of Compare. Negating one swaps the operands.
const (
	Lesser  Comparison = -1
	Equal   Comparison = 0
	Greater Comparison = 1
)

// Compare orders v relative to other by age: first by major number, then alpha before beta before stable, then by the
// number after alpha or beta. So v1alpha1 < v1beta1 < v1 < v2alpha1.
//
// This is not Kubernetes' order of preference, in which every stable version ranks above every beta: v1 above v2alpha1.
func (v Version) Compare(other Version) Comparison {
	return Comparison(cmp.Or(
		cmp.Compare(v.major, other.major),
		cmp.Compare(v.stability, other.stability),
		cmp.Compare(v.minor, other.minor),
	))
}
