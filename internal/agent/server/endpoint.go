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
	Limit time.Duration

	call func(ctx context.Context, decode func(any) error) (any, error)
}

// NewMethod returns a method that takes a message such as request makes, and answers with one message.
func NewMethod(name string, limit time.Duration, request func() proto.Message,
	handle func(context.Context, proto.Message) (proto.Message, error)) Method {
	return Method{Name: name, Limit: limit, call: func(ctx context.Context, decode func(any) error) (any, error) {
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
	hub := m.call
	m.call = func(ctx context.Context, decode func(any) error) (any, error) {
		response, err := hub(ctx, func(request any) error { return mapping.RequestUp(decode, request) })
		if err != nil {
			return nil, err
		}
		return mapping.ResponseDown(response), nil
	}
	return m
}

// Around returns the method with each call inside a function, which makes it by do or fails it on purpose. Recording
// and counting stand around both, so that they show what the caller sees.
func (m Method) Around(f func(ctx context.Context, do func() error) error) Method {
	inner := m.call
	m.call = func(ctx context.Context, decode func(any) error) (response any, err error) {
		err = f(ctx, func() (err error) { response, err = inner(ctx, decode); return err })
		return response, err
	}
	return m
}

// description returns the service in the form that grpc.Server takes. Decoding happens inside the interceptors, so that
// a malformed request is logged and counted like every other failure; the interceptors never see the request.
func (s Service) description() *grpc.ServiceDesc {
	desc := &grpc.ServiceDesc{ServiceName: s.Name}
	for _, m := range s.Methods {
		info := &grpc.UnaryServerInfo{FullMethod: s.Path(m)}
		desc.Methods = append(desc.Methods, grpc.MethodDesc{
			MethodName: m.Name,
			Handler: func(_ any, ctx context.Context, decode func(any) error,
				intercept grpc.UnaryServerInterceptor) (any, error) {
				return intercept(ctx, nil, info, func(ctx context.Context, _ any) (any, error) {
					return m.call(ctx, recordRequest(ctx, decodeRequest(decode)))
				})
			},
		})
	}
	return desc
}

// Path returns the full path of a method on the wire: "/v1.Disk/ListDiskIDs".
func (s Service) Path(m Method) string { return "/" + s.Name + "/" + m.Name }
