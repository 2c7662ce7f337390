// SPDX-License-Identifier: Apache-2.0

package node

import (
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/operation"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winfs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winpath"
)

// Steps is the group nodesteps: the steps of a CSI node service. A step is one operation, which holds the lock of its
// target from its beginning to its end, and the locks of disks, volumes and shares only for the phases that need them.
// It hands on what it has learned, and looks again through the handle that is about to be written. All of it can be
// repeated after a failure or a crash anywhere.
type Steps struct{ node *Node }

// stepMethods are the group's methods. A further one needs its proto and `make generate image`, a row here, its
// operation, a step in TestStepsLifecycle and a failure in failures of test/conformance, for a change an example in
// test/reliability/sweep_steps_test.go, and `go test -update .` in client for its record.
var stepMethods = []Method{
	changes("StageDisk", LimitLong, (*Steps).StageDisk, fields{
		"target_path": NamesPath, "serial_number": NamesNothing, "page83_id": NamesNothing, "ebs_volume_id": NamesNothing,
		"gce_device_name": NamesNothing, "vsphere_uuid": NamesNothing, "model": NamesNothing,
		"iscsi_disk.target_address": NamesPortal, "iscsi_disk.iqn": NamesTarget,
		"expected.serial_number": NamesNothing, "expected.page83_id": NamesNothing, "access.sid": NamesNothing,
	}),
	changes("StageShare", LimitLong, (*Steps).StageShare, fields{
		"target_path": NamesPath, "remote_path": NamesShare, "username": NamesNothing, "password": NamesNothing,
	}),
	changes("Unstage", LimitLong, (*Steps).Unstage, fields{"target_path": NamesPath}),
	changes("Publish", LimitWrite, (*Steps).Publish, fields{"target_path": NamesPath, "source_path": NamesPath}),
	fresh(changes("Expand", LimitLong, (*Steps).Expand, fields{"target_path": NamesPath})),
	reads("GetVolume", (*Steps).GetVolume, fields{"target_path": NamesPath}),
}

// stepAt returns the request of a step at a path. Steps that differ in any field of their messages do not join.
func stepAt(verb string, target winpath.Path, message proto.Message) operation.Request {
	what := operation.On(verb, operation.Path(target))
	differs := proto.Clone(message).ProtoReflect()
	for _, known := range []protoreflect.Name{"target_path", "password"} { // in all its spellings; Credentials is its key
		if field := differs.Descriptor().Fields().ByName(known); field != nil {
			differs.Clear(field)
		}
	}
	details, err := proto.MarshalOptions{Deterministic: true}.Marshal(differs.Interface())
	what.Details, what.NoJoin = string(details), err != nil
	return what
}

// maxText is more than a disk's marks, a target's name and a share's path have, in bytes.
const maxText = 4096

// shortTexts returns an error if one of the texts of a request is so long that it can mean nothing: it would be in
// every line of the log about the step, and in its error.
func shortTexts(texts ...string) error {
	for _, text := range texts {
		if len(text) > maxText {
			return errdefs.InvalidArgument.Errorf(reason.InvalidArgument, "a text of the request has %d bytes, and may have %d",
				len(text), maxText)
		}
	}
	return nil
}

// makeParents makes the directories above a path.
func (o *op) makeParents(path winpath.Path) error {
	loc, err := o.fs.Locate(path, winfs.Walk{Create: true})
	if err != nil {
		return err
	}
	loc.Close()
	return nil
}

// removeEmpty removes a link, a mount point or an empty directory; none there is success. It asks no server.
func (o *op) removeEmpty(path winpath.Path) error {
	if err := o.rmdir(path, false); !errdefs.HasReason(err, reason.PathNotFound) {
		return err
	}
	return nil
}

// linkAt makes a link, or finds it possible, and the directories above it. What is at its path is replaced if it is
// another link or an empty directory.
func (o *op) linkAt(path winpath.Path, link func() error) error {
	err := o.makeParents(path)
	if err == nil {
		err = link()
	}
	if errdefs.HasReason(err, reason.PathExists) {
		if err = o.makeRoom(path); err == nil {
			err = link()
		}
	}
	return err
}

// makeRoom removes a link or an empty directory. It leaves a mounted volume, whose disk only Unstage takes offline.
func (o *op) makeRoom(path winpath.Path) error {
	there, mounted, err := o.mountPointAt(path)
	if mounted {
		err = otherVolume("volume %s is mounted at %s; Unstage unmounts it", there, path)
	}
	if err != nil {
		return err
	}
	return o.removeEmpty(path)
}

// recordError returns the error of a failure at the agent's records.
func recordError(err error) error {
	if err == nil {
		return nil
	}
	return errdefs.FailedPrecondition.WrapErrorf(err, reason.NoRecords,
		"the agent's records of shares and volumes: %v", err)
}
