// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/node"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winpath"
)

// Request returns the refusal of a request for what it names; nil if the rule allows that. The request is that of the
// newest version, which is the one that acts. An empty text names nothing.
func (r *Rule) Request(request proto.Message) error {
	return node.EachText(request, func(field protoreflect.FieldDescriptor, m node.Meaning, text string) error {
		switch m {
		case 0:
			return r.refuse("does not know the meaning of the field %s", field.Name())
		case node.NamesNothing:
			return nil
		default:
			return r.Names(m, text)
		}
	})
}

// Names returns the refusal of a request that names something; nil if the rule allows that.
func (r *Rule) Names(m node.Meaning, text string) error {
	switch m {
	case node.NamesPath:
		// Where a method does not take / for \, the node refuses the path.
		p, err := winpath.Parse(text, winpath.Options{ForwardSlash: true})
		if err != nil {
			return r.refuse("does not reach this path: %v", err)
		}
		return r.Path(p)
	case node.NamesShare:
		unc, err := winpath.ParseUNC(text)
		if err != nil {
			return r.refuse("does not reach this share: %v", err)
		}
		return r.Server(unc.Server)
	case node.NamesService:
		return r.checkList(r.services, text, "the service", "the services", fitsName)
	case node.NamesPortal:
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
