// SPDX-License-Identifier: Apache-2.0

package page

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"path/filepath"
	"slices"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/structpb"

	api "github.com/kubernetes-csi/csi-proxy/api/emulated/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated"
	"github.com/kubernetes-csi/csi-proxy/internal/operator/adminclient"
)

// A method makes a call of the admin endpoint with a request as JSON.
type method func(ctx context.Context, request []byte) (proto.Message, error)

// methods returns the methods that the page's buttons call, with the fields that they set. None names a file of the
// host.
func methods(c *adminclient.Client) map[string]method {
	return map[string]method{
		"Add": unary(c.Add, "document.disks", "size", "serial", "busType", "offline", "content"),
		"Change": unary(c.Change, "document.disks", "number", "size", "offline", "readOnly",
			"document.smbServers", "name", "stopped", "document.iscsiPortals", "address", "port", "connected"),
		"Remove":      unary(c.Remove, "document.disks", "number", "document.smbSessions", "server"),
		"AddFault":    unary(c.AddFault, "fault"),
		"RemoveFault": unary(c.RemoveFault, "id"),
		"Reboot":      unary(c.Reboot),
	}
}

// unary returns a method that refuses requests with other fields than these, or a document with other keys.
func unary[Q any, M interface {
	*Q
	proto.Message
}, R proto.Message](call func(context.Context, M, ...grpc.CallOption) (R, error), fields ...string,
) method {
	return func(ctx context.Context, text []byte) (proto.Message, error) {
		request := M(new(Q))
		if err := protojson.Unmarshal(text, request); err != nil {
			return nil, err
		}
		var refused string
		request.ProtoReflect().Range(func(f protoreflect.FieldDescriptor, value protoreflect.Value) bool {
			if document, is := value.Interface().(protoreflect.Message); is && f.Name() == "document" {
				refused = otherKey(document.Interface().(*structpb.Struct).AsMap(), "document.", fields)
			} else if !slices.Contains(fields, f.JSONName()) {
				refused = f.JSONName()
			}
			return refused == ""
		})
		if refused != "" {
			return nil, status.Errorf(codes.PermissionDenied, "the page does not set %s; use csi-proxyctl node", refused)
		}
		return call(ctx, request)
	}
}

// otherKey returns a key, with its prefix, that is not among the allowed ones; empty: there is none. Elements of lists
// have no prefix.
func otherKey(value any, prefix string, allowed []string) string {
	switch value := value.(type) {
	case map[string]any:
		for key, of := range value {
			if !slices.Contains(allowed, prefix+key) {
				return key
			}
			if other := otherKey(of, "", allowed); other != "" {
				return other
			}
		}
	case []any:
		for _, of := range value {
			if other := otherKey(of, "", allowed); other != "" {
				return other
			}
		}
	}
	return ""
}

func (p *page) serveCall(r *http.Request) (any, error) {
	call := p.methods[r.PathValue("method")]
	if call == nil {
		return nil, status.Error(codes.PermissionDenied, "the page does not call "+r.PathValue("method"))
	}
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	response, err := call(r.Context(), text)
	if err != nil {
		return nil, err
	}
	text, err = protojson.Marshal(response)
	return json.RawMessage(text), err
}

// changing serves a change, unless the page only looks.
func (p *page) changing(serve func(*http.Request) (any, error)) http.HandlerFunc {
	return answering(func(r *http.Request) (any, error) {
		if p.config.Admin == nil {
			return nil, status.Error(codes.PermissionDenied, "this page only looks: the agent was started with -ui-read-only")
		}
		return serve(r)
	})
}

// serveReattach attaches a disk again that was pulled out, by the name of its bundle: a page names no path of the host.
func (p *page) serveReattach(r *http.Request) (any, error) {
	var wanted struct{ Name string }
	if err := readJSON(r, &wanted); err != nil {
		return nil, err
	}
	disks, err := p.config.Harness.Node.DetachedDisks()
	i := slices.IndexFunc(disks, func(d emulated.DetachedDisk) bool { return filepath.Base(d.Bundle) == wanted.Name })
	if i < 0 && err == nil {
		err = status.Error(codes.NotFound, "no disk that was pulled out has this name; load the page again")
	}
	if i < 0 {
		return nil, err
	}
	return p.config.Admin.Add(r.Context(), &api.AddRequest{
		Document: api.Document("disks", map[string]any{"bundle": disks[i].Bundle})})
}

func readJSON(r *http.Request, to any) error {
	decoder := json.NewDecoder(r.Body)
	decoder.DisallowUnknownFields()
	return decoder.Decode(to)
}

// answering serves what a function returns as JSON: a value, or an error for people.
func answering(serve func(*http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		value, err := serve(r)
		if err != nil {
			code := http.StatusBadRequest
			switch status.Code(err) {
			case codes.PermissionDenied:
				code = http.StatusForbidden
			case codes.Unavailable:
				code = http.StatusServiceUnavailable
			default:
			}
			w.WriteHeader(code)
			value = map[string]string{"error": adminclient.Explain(err).Error()}
		}
		_ = json.NewEncoder(w).Encode(value) // a browser that went away needs no answer
	}
}
