// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/kubernetes-csi/csi-proxy/client/versions"
)

// An Endpoint is what one pipe or socket serves.
type Endpoint struct {
	Name     string // of the pipe or socket: "csi-proxy-disk-v1"
	Group    string // "disk"; "" for an endpoint that is not of the versioned API
	Version  string // "v1"
	Private  bool   // not open to clients that transport.Options.PipeSecurity admits to the others
	Services []Service
}

// A Service is one gRPC service as data: its name on the wire and a row for each method. Unlike with a generated
// grpc.ServiceDesc, an old version's methods can lead to newer handlers, and interceptors see the path that was called.
type Service struct {
	Name    string // including the proto package: "v1.Disk"
	Methods []Method
}

// A Method is one row of a Service. NewMethod makes it.
type Method struct {
	Name string
	// Limit is how long a call may take when the caller sets no shorter deadline.
	Limit  time.Duration
	Handle Handler
}

// A Handler answers one call, whose request decode reads.
type Handler func(ctx context.Context, decode func(any) error) (response any, err error)

// NewMethod returns a method that takes a message such as request makes, and answers with one message.
func NewMethod(name string, limit time.Duration, request func() proto.Message,
	handle func(context.Context, proto.Message) (proto.Message, error)) Method {
	return Method{Name: name, Limit: limit, Handle: func(ctx context.Context, decode func(any) error) (any, error) {
		request := request()
		if err := decode(request); err != nil {
			return nil, err // a status already
		}
		if err := permitted(ctx, request); err != nil {
			return nil, err
		}
		return handle(ctx, request)
	}}
}

// Unary is NewMethod for a function with the types of its messages.
func Unary[Request, Response any](name string, limit time.Duration,
	handle func(context.Context, *Request) (*Response, error)) Method {
	message := func(m any) proto.Message { return m.(proto.Message) } //nolint:forcetypeassert // generated types are
	return NewMethod(name, limit, func() proto.Message { return message(new(Request)) },
		func(ctx context.Context, request proto.Message) (proto.Message, error) {
			response, err := handle(ctx, any(request).(*Request)) //nolint:forcetypeassert // it was made so
			if err != nil {
				return nil, err
			}
			return message(response), nil
		})
}

// Through returns the method as an old version has it: its messages are converted to this method's and back.
func (m Method) Through(mapping *versions.Mapping) Method {
	hub := m.Handle
	m.Handle = func(ctx context.Context, decode func(any) error) (any, error) {
		response, err := hub(ctx, func(request any) error { return mapping.RequestUp(decode, request) })
		if err != nil {
			return nil, err
		}
		return mapping.ResponseDown(response), nil
	}
	return m
}

// description returns the service in the form that grpc.Server takes.
func (s Service) description(p *interceptors) *grpc.ServiceDesc {
	desc := &grpc.ServiceDesc{ServiceName: s.Name}
	for _, m := range s.Methods {
		handle := p.around(s.Path(m), m.Handle)
		desc.Methods = append(desc.Methods, grpc.MethodDesc{
			MethodName: m.Name,
			Handler: func(_ any, ctx context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
				return handle(ctx, decodeRequest(decode))
			},
		})
	}
	return desc
}

// InProcess returns the handlers of an endpoint's methods, by their paths, for clients in the same process. Calls are
// audited, counted and their errors mapped as over a socket, but the limits of clients do not apply.
func InProcess(e Endpoint, o Options) map[string]Handler {
	p, handlers := newInterceptors(e, o.complete()), map[string]Handler{}
	for _, service := range e.Services {
		for _, m := range service.Methods {
			handlers[service.Path(m)] = p.around(service.Path(m), m.Handle)
		}
	}
	return handlers
}

// Path returns the full path of a method on the wire: "/v1.Disk/ListDiskIDs".
func (s Service) Path(m Method) string { return "/" + s.Name + "/" + m.Name }
