// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/winpath"
)

// Object is something that operations work on, and that can hang or be locked on its own.
type Object struct {
	class lockClass
	name  string // for people
	fold  string // the same for all spellings; "": same as name
}

// lockClass is the class of an object. The classes are declared in the order in which an operation takes their locks;
// within a class, locks are taken in the order of their keys. So no two operations wait for each other.
type lockClass int

const (
	wholeNode lockClass = iota
	deviceTree
	initiator
	portalClass
	targetClass
	pathClass
	shareClass
	shareContact
	mappingList
	volumeClass
	diskClass
	diskInterface
	serviceClass
)

// The objects that exist once.
var (
	Devices        = Object{class: deviceTree, name: "devices"}
	ISCSIInitiator = Object{class: initiator, name: "iSCSI initiator"}
	SMBMappings    = Object{class: mappingList, name: "SMB mappings"}
)

// Question returns the object for a question about the node as a whole, which can hang on its own.
func Question(name string) Object { return Object{class: wholeNode, name: name} }

// Disk returns the object for a disk.
func Disk(number uint32) Object {
	return Object{class: diskClass, name: fmt.Sprintf("disk %d", number)}
}

// DeviceInterface returns the object for a disk whose number is not known yet, or for an adapter.
func DeviceInterface(path string) Object { return Object{class: diskInterface, name: path} }

// Volume returns the object for a volume.
func Volume(id winpath.VolumeID) Object { return VolumeDevice(id.String()) }

// VolumeDevice returns the object for a volume that is known by the name of its device.
func VolumeDevice(name string) Object { return Object{class: volumeClass, name: name} }

// Path returns the object for a path.
func Path(p winpath.Path) Object { return Object{class: pathClass, name: p.String(), fold: p.Key()} }

// Share returns the object for a share.
func Share(key string) Object { return Object{class: shareClass, name: key} }

// ShareContact returns the object for a directory on a share whose existence the server is asked about.
func ShareContact(path winpath.UNC) Object {
	return Object{class: shareContact, name: path.String(), fold: winpath.Fold(path.String())}
}

// Target returns the object for an iSCSI target.
func Target(name string) Object { return Object{class: targetClass, name: name} }

// Portal returns the object for an iSCSI portal; key is the same for all its spellings.
func Portal(name, key string) Object { return Object{class: portalClass, name: name, fold: key} }

// Service returns the object for a Windows service.
func Service(name string) Object {
	return Object{class: serviceClass, name: name, fold: winpath.Fold(name)}
}

func (x Object) String() string { return x.name }

// Server returns the file server of a share; "": the object is none.
func (x Object) Server() string {
	if x.class != shareClass && x.class != shareContact {
		return ""
	}
	server, _, _ := strings.Cut(strings.TrimPrefix(cmp.Or(x.fold, x.name), `\\`), `\`)
	return server
}

// key returns the same text for all names of one object, and another text for objects of other classes.
func (x Object) key() string { return strconv.Itoa(int(x.class)) + " " + cmp.Or(x.fold, x.name) }

// inLockOrder returns the objects, each once, in the order in which their locks are taken.
func inLockOrder(objects []Object) []Object {
	sorted := slices.SortedFunc(slices.Values(objects), func(a, b Object) int {
		return cmp.Or(cmp.Compare(a.class, b.class), cmp.Compare(a.key(), b.key()))
	})
	return slices.CompactFunc(sorted, Object.same)
}

// same reports whether two names are those of one object.
func (x Object) same(y Object) bool { return x.key() == y.key() }
