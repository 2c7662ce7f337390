// SPDX-License-Identifier: Apache-2.0

package node

import (
	"cmp"
	"slices"
	"sort"
	"strconv"

	"github.com/kubernetes-csi/csi-proxy/internal/winpath"
)

// object is something that operations work on, and that can hang or be locked on its own.
type object struct {
	kind kind
	name string // for people
	fold string // the same for all spellings; "": same as name
}

// kind is the kind of an object. The kinds are declared in the order in which an operation takes their locks; within a
// kind, locks are taken in the order of their keys. No other order exists, so no two operations wait for each other.
type kind int

const (
	wholeNode kind = iota
	stepKind
	deviceTree
	initiator
	portalKind
	targetKind
	pathKind
	shareKind
	shareContact
	mappingList
	volumeKind
	diskKind
	diskInterface
	volumeArrival
	serviceKind
)

// The objects that exist once.
var (
	devices        = object{kind: deviceTree, name: "devices"}
	iscsiInitiator = object{kind: initiator, name: "iSCSI initiator"}
	smbMappings    = object{kind: mappingList, name: "SMB mappings"}
)

func diskObject(number uint32) object {
	return object{kind: diskKind, name: "disk " + strconv.FormatUint(uint64(number), 10)}
}

// interfaceObject returns the object for a disk whose number is not known yet.
func interfaceObject(path string) object { return object{kind: diskInterface, name: path} }

func volumeObject(id winpath.VolumeID) object { return object{kind: volumeKind, name: id.String()} }

func pathObject(p winpath.Path) object {
	return object{kind: pathKind, name: p.String(), fold: p.Key()}
}

func shareObject(key string) object { return object{kind: shareKind, name: key} }

// contactObject returns the object for a directory on a share whose existence the server is asked about.
func contactObject(path string) object {
	return object{kind: shareContact, name: path, fold: winpath.Fold(path)}
}

func targetObject(name targetName) object { return object{kind: targetKind, name: string(name)} }

func portalObject(p portal) object {
	return object{kind: portalKind, name: p.String(), fold: p.key()}
}

func serviceObject(name string) object {
	return object{kind: serviceKind, name: name, fold: winpath.Fold(name)}
}

func (x object) String() string { return x.name }

// key returns the same text for all names of one object, and another text for objects of other kinds.
func (x object) key() string { return strconv.Itoa(int(x.kind)) + " " + cmp.Or(x.fold, x.name) }

// inLockOrder returns the keys of objects, each once, in the order in which their locks are taken.
func inLockOrder(objects []object) []string {
	sorted := slices.Clone(objects)
	sort.Slice(sorted, func(i, j int) bool {
		a, b := sorted[i], sorted[j]
		return a.kind < b.kind || a.kind == b.kind && a.key() < b.key()
	})
	keys := make([]string, len(sorted))
	for i, x := range sorted {
		keys[i] = x.key()
	}
	return slices.Compact(keys)
}
