// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/kubernetes-csi/csi-proxy/internal/operator/treeview"
)

// An answer is the result of a command: a value for JSON and YAML, and the rows of a table. Tabs separate the
// cells. If the first row has tabs, it holds the column heads. A change has the zero answer.
type answer struct {
	value any
	rows  []string
	wide  []string // of -o wide; nil: rows
	names []string // of -o name; nil: the first cell of each row
	lists bool     // all objects of a kind: without those that Windows did not answer about, the command fails
}

// table returns a list as an answer. The field is its name in JSON, and row returns an object's value and its cells.
func table[T any](field, heads string, list []T, row func(T) (value any, cells []any)) answer {
	values, rows := []any{}, []string{heads}
	for _, object := range list {
		value, of := row(object)
		values, rows = append(values, value), append(rows, cells(of...))
	}
	return answer{value: map[string]any{field: values}, rows: rows}
}

// cells returns a row of a table, with a dash for an empty cell.
func cells(values ...any) string {
	texts := make([]string, len(values))
	for i, value := range values {
		if yes, is := value.(bool); is {
			value = choose(yes, "yes", "no")
		}
		texts[i] = cmp.Or(fmt.Sprint(value), "-")
	}
	return strings.Join(texts, "\t")
}

// inBytes returns a row of a table of sizes.
func inBytes(name string, bytes int64) string {
	return fmt.Sprintf("%s\t%d\t(%s)", name, bytes, treeview.Size(bytes))
}

// yesNo returns a boolean answer about an object. The name is the field in JSON.
func yesNo(object, name string, yes bool) answer {
	return answer{value: map[string]bool{name: yes}, rows: []string{strconv.FormatBool(yes)}, names: []string{object}}
}

// plainList returns a list of texts as an answer. The name is the field in JSON.
func plainList(name string, list []string) answer {
	list = append([]string{}, list...)
	return answer{value: map[string][]string{name: list}, rows: list, names: list}
}

// answerOf returns a response as an answer. The only row is the response's first field.
func answerOf(response proto.Message) answer {
	m := response.ProtoReflect()
	if m.Descriptor().Fields().Len() == 0 {
		return answer{}
	}
	return answer{value: message{response}, rows: []string{m.Get(m.Descriptor().Fields().Get(0)).String()}}
}

// A method is a method expression of the storage API or the admin endpoint, such as csiproxy.DiskClient.Rescan.
type method[C, Q, R any] = func(C, context.Context, Q, ...grpc.CallOption) (R, error)

// A pointer is a pointer to a request.
type pointer[T any] interface {
	*T
	proto.Message
}

// query returns a command that makes one call and prints the answer of show, or of answerOf if show is nil. The
// arguments set the request's fields.
func query[C, T any, Q pointer[T], R proto.Message](a *connection, name, short string, m method[C, Q, R],
	show func(args []string, response R) answer, takes ...string) *cobra.Command {
	return calls(a, a.command(name, short, takes...), Q(new(T)), m, show)
}

// change returns a command that makes one call and changes something.
func change[C, T any, Q pointer[T], R proto.Message](a *connection, name, short string, m method[C, Q, R],
	takes ...string) *cobra.Command {
	return changeWith(a, name, short, Q(new(T)), m, takes...)
}

// changeWith is change with a request whose other fields are set already, or by flags.
func changeWith[C any, Q, R proto.Message](a *connection, name, short string, request Q, m method[C, Q, R],
	takes ...string) *cobra.Command {
	c := calls(a, a.command(name, short, takes...), request, m, nil)
	if isAdmins(request) { // an emulated node is there to be changed
		return c
	}
	return withDryRun(c)
}

// untried shows that the agent did not try the credentials of a change, if it says so.
func untried[R any](a *connection) func([]string, R) answer {
	return func([]string, R) answer {
		if len(a.gaps) == 0 {
			return answer{}
		}
		kept := a.changed(a.running)
		kept.value.(map[string]any)["tried"], kept.rows = false, a.gaps //nolint:forcetypeassert // changed made it
		return kept
	}
}

// isAdmins reports whether a request is one of the admin endpoint, not of the API.
func isAdmins(request proto.Message) bool {
	return !strings.HasPrefix(request.ProtoReflect().Descriptor().ParentFile().Path(), "client/api/")
}

func calls[C any, Q, R proto.Message](a *connection, c *cobra.Command, request Q, m method[C, Q, R],
	show func(args []string, response R) answer) *cobra.Command {
	if !isAdmins(request) {
		a.calledBy(c, strings.TrimSuffix(string(request.ProtoReflect().Descriptor().Name()), "Request"))
	}
	fields := namesOf(a.takes[c], func(of argument) protoreflect.FieldDescriptor { return fieldOf(request, of) })
	return a.runs(c, func(ctx context.Context, args []string) (answer, error) {
		if err := setFields(request, fields, args); err != nil {
			return answer{}, err
		}
		response, err := invoke(ctx, a, m, request)
		if err != nil {
			return answer{}, err
		}
		if show != nil {
			return show(args, response), nil
		}
		return answerOf(response), nil
	})
}

// fieldOf returns the field of a request that an argument sets. It panics if there is none.
func fieldOf(request proto.Message, of argument) protoreflect.FieldDescriptor {
	for name := range strings.FieldsSeq(of.fields) {
		if field := request.ProtoReflect().Descriptor().Fields().ByName(protoreflect.Name(name)); field != nil {
			return field
		}
	}
	panic(fmt.Sprintf("%T has no field for %s", request, of.name))
}

func setFields(request proto.Message, fields []protoreflect.FieldDescriptor, args []string) error {
	m := request.ProtoReflect()
	for i, text := range args {
		switch field := fields[i]; field.Kind() {
		case protoreflect.StringKind:
			if port := m.Descriptor().Fields().ByName("port"); port != nil { // the portal is in two fields
				portal := portalOf(args)
				m.Set(port, protoreflect.ValueOfUint32(portal.GetTargetPort()))
				text = portal.GetTargetAddress()
			}
			m.Set(field, protoreflect.ValueOfString(text))
		case protoreflect.MessageKind:
			m.Set(field, protoreflect.ValueOfMessage(portalOf(args[i:]).ProtoReflect()))
		case protoreflect.Uint64Kind:
			number, err := strconv.ParseUint(text, 10, 64)
			if err != nil {
				return fmt.Errorf("%q is not a number", text)
			}
			m.Set(field, protoreflect.ValueOfUint64(number))
		default:
			m.Set(field, protoreflect.ValueOfUint32(diskOf(args[i:])))
		}
	}
	return nil
}

// runs makes a command resolve its arguments, confirm a change, call do, and print the answer.
func (a *connection) runs(c *cobra.Command,
	do func(ctx context.Context, args []string) (answer, error)) *cobra.Command {
	c.RunE = func(c *cobra.Command, args []string) error {
		args, err := a.resolved(c, args)
		if err != nil {
			return err
		}
		if confirmed, err := a.confirmed(c, args); !confirmed || err != nil {
			return err
		}
		before := ""
		return a.following(c, a.watch, func(ctx context.Context) error {
			for {
				found, err := do(ctx, args)
				if err != nil {
					return err
				}
				now, err := a.render(c, found)
				if now != before {
					_, failed := io.WriteString(c.OutOrStdout(), now)
					err = cmp.Or(err, failed)
				}
				if before = now; !a.watch || err != nil {
					return err
				}
				select {
				case <-time.After(watchPause):
				case <-ctx.Done():
					return nil
				}
			}
		})
	}
	return c
}

const watchPause = 2 * time.Second

// prepared makes a command call prepare first, which checks flags or reads a secret.
func prepared(c *cobra.Command, prepare func(args []string) error) *cobra.Command {
	run := c.RunE
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := prepare(args); err != nil {
			return err
		}
		return run(c, args)
	}
	return c
}

// group returns a command that groups others. Without one of them it prints its help.
func group(name, short string, commands ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{Use: name, Short: short, Args: subcommand,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() }}
	c.AddCommand(commands...)
	return c
}

// required marks flags of a command as required. It panics if there is no such flag.
func required(c *cobra.Command, flags ...string) {
	for _, flag := range flags {
		if err := c.MarkFlagRequired(flag); err != nil {
			panic(err)
		}
	}
}
