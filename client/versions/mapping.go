// SPDX-License-Identifier: Apache-2.0

package versions

import (
	"cmp"
	"fmt"
)

// Mapping converts the messages of an old method to those of its hub's and back.
type Mapping struct {
	request, response func(old, hub any, c *conversion)
	messages          [4]func() any // each makes one: old request and response, hub's
}

// between makes a mapping from two functions. Each names what is one in two messages, for both ways.
func between[OldRequest, OldResponse, HubRequest, HubResponse any](
	request func(*OldRequest, *HubRequest, *conversion), response func(*OldResponse, *HubResponse, *conversion),
) *Mapping {
	return &Mapping{
		request:  func(old, hub any, c *conversion) { request(as[OldRequest](old), as[HubRequest](hub), c) },
		response: func(old, hub any, c *conversion) { response(as[OldResponse](old), as[HubResponse](hub), c) },
		messages: [4]func() any{made[OldRequest], made[OldResponse], made[HubRequest], made[HubResponse]},
	}
}

func as[T any](message any) *T { return message.(*T) } // the table pairs them, and a test proves it

func made[T any]() any { return new(T) }

// A conversion fills a new message from one that has content.
type conversion struct {
	up  bool // the hub's from the old
	err error
}

func (c *conversion) fail(err error) { c.err = cmp.Or(c.err, err) }

// field converts a field that both messages have.
func field[T any](c *conversion, old, hub *T) {
	if c.up {
		*hub = *old
	} else {
		*old = *hub
	}
}

// convert fills hub from old, or old from hub.
func convert(how func(old, hub any, c *conversion), up bool, old, hub any) error {
	c := &conversion{up: up}
	how(old, hub, c)
	return c.err
}

// RequestUp decodes an old request and fills the hub's from it. A value that the hub cannot hold is an *ArgumentError.
func (m *Mapping) RequestUp(decode func(any) error, hub any) error {
	old := m.messages[0]()
	if err := decode(old); err != nil {
		return err
	}
	return convert(m.request, true, old, hub)
}

// ResponseDown returns the old response for the hub's. An old response can hold all that the hub's can.
func (m *Mapping) ResponseDown(hub any) (old any) {
	old = m.messages[1]()
	_ = convert(m.response, false, old, hub)
	return old
}

// Call makes a call to the hub's method on an agent that has only the old one: invoke sends the converted request and
// receives the answer. A request that the old version cannot express is an *UnsupportedError.
func (m *Mapping) Call(hubRequest, hubResponse any, invoke func(request, response any) error) error {
	request, response := m.messages[0](), m.messages[1]()
	if err := convert(m.request, false, request, hubRequest); err != nil {
		return err
	}
	if err := invoke(request, response); err != nil {
		return err
	}
	return convert(m.response, true, response, hubResponse)
}

// ArgumentError is a value of an old version's message that has no counterpart in the hub.
type ArgumentError struct {
	Field   string // the old version's name
	Value   string
	Problem string
}

func (e *ArgumentError) Error() string {
	const most = 64
	value := e.Value
	if len(value) > most {
		value = value[:most] + "…"
	}
	return fmt.Sprintf("%s %q %s", e.Field, value, e.Problem)
}

// UnsupportedError is a request that an old version cannot express.
type UnsupportedError struct {
	Group   string
	Version string // the first version that can
	What    string
}

func (e *UnsupportedError) Error() string {
	return fmt.Sprintf("%s needs version %s of the %s API", e.What, e.Version, e.Group)
}
