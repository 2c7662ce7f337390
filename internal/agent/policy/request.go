// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/winpath"
)

// A Meaning is what a text in a request names.
type Meaning int

// The meanings. The zero value is unknown.
const (
	_       Meaning = iota
	free            // nothing that a policy restricts
	Path            // a path of the node
	Share           // a path on a file server
	Service         // a Windows service
	Portal          // the address of an iSCSI portal
	Target          // an iSCSI target
)

// MeaningOf returns the meaning of a field by its name, 0 for one without, which every policy refuses.
func MeaningOf(field protoreflect.Name) Meaning {
	switch field {
	case "path", "source_path", "target_path", "local_path", "mount":
		return Path
	case "remote_path":
		return Share
	case "name":
		return Service
	case "target_address":
		return Portal
	case "iqn":
		return Target
	case "volume_id", "disk_name", "serial_number", "page83_id", "ebs_volume_id", "gce_device_name", "vsphere_uuid",
		"model", "sid", "username", "password", "chap_username", "chap_secret", "MutualChapSecret":
		return free
	}
	return 0
}

// Request returns the refusal of a request for what it names; nil if the rule allows that. The request is that of the
// newest version, which is the one that acts. An empty text names nothing.
func (r *Rule) Request(request proto.Message) error { return r.message(request.ProtoReflect()) }

func (r *Rule) message(m protoreflect.Message) (refusal error) {
	m.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		switch {
		case field.IsList() && field.Message() != nil:
			for i := 0; i < value.List().Len() && refusal == nil; i++ {
				refusal = r.message(value.List().Get(i).Message())
			}
		case field.IsMap() || field.IsList():
			refusal = r.refuse("does not know the meaning of the field %s", field.Name())
		case field.Message() != nil:
			refusal = r.message(value.Message())
		case field.Kind() == protoreflect.StringKind:
			refusal = r.field(field.Name(), value.String())
		case field.Kind() == protoreflect.BytesKind:
			refusal = r.field(field.Name(), string(value.Bytes()))
		}
		return refusal == nil
	})
	return refusal
}

func (r *Rule) field(name protoreflect.Name, text string) error {
	switch m := MeaningOf(name); m {
	case 0:
		return r.refuse("does not know the meaning of the field %s", name)
	case free:
		return nil
	default:
		return r.Names(m, text)
	}
}

// Names returns the refusal of a request that names something; nil if the rule allows that.
func (r *Rule) Names(m Meaning, text string) error {
	switch m {
	case Path:
		// Where a method does not take / for \, the node refuses the path.
		p, err := winpath.Parse(text, winpath.Options{ForwardSlash: true})
		if err != nil {
			return r.refuse("does not reach this path: %v", err)
		}
		return r.Path(p)
	case Share:
		unc, err := winpath.ParseUNC(text)
		if err != nil {
			return r.refuse("does not reach this share: %v", err)
		}
		return r.Server(unc.Server)
	case Service:
		return r.checkList(r.services, text, "the service", "the services", fitsName)
	case Portal:
		return r.checkList(r.portals, text, "the iSCSI portal", "the portals", fitsPortal)
	default:
		return r.checkList(r.targets, text, "the iSCSI target", "the targets", fitsTarget)
	}
}

func (r *Rule) checkList(list []string, text, what, several string, fits func(pattern, text string) bool) error {
	if anyFits(list, text, fits) {
		return nil
	}
	return r.refuse("does not reach %s %s; it allows %s", what, winpath.Quote(text),
		allows(several, strings.Join(list, ", ")))
}

func anyFits(list []string, text string, fits func(pattern, text string) bool) bool {
	return slices.ContainsFunc(list, func(pattern string) bool { return fits(pattern, text) })
}
