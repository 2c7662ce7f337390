// SPDX-License-Identifier: Apache-2.0

package versions

import "fmt"

// Mapping converts the messages of an old method to those of its hub's and back.
type Mapping struct {
	requestUp    func(decode func(any) error, hub any) error
	responseDown func(hub any) any
	requestDown  func(hub any) (old any, err error)
	responseUp   func(old, hub any) error
	newResponse  func() any
	messages     [4]any // one of each, for the tests of the tables: old request and response, hub's
}

// between makes a mapping from four functions, each of which fills its second argument from its first.
func between[OldRequest, OldResponse, HubRequest, HubResponse any](
	requestUp func(*OldRequest, *HubRequest) error,
	responseDown func(*HubResponse, *OldResponse),
	requestDown func(*HubRequest, *OldRequest) error,
	responseUp func(*OldResponse, *HubResponse) error,
) *Mapping {
	return &Mapping{
		requestUp: func(decode func(any) error, hub any) error {
			old := new(OldRequest)
			if err := decode(old); err != nil {
				return err
			}
			return requestUp(old, as[HubRequest](hub))
		},
		responseDown: func(hub any) any {
			old := new(OldResponse)
			responseDown(as[HubResponse](hub), old)
			return old
		},
		requestDown: func(hub any) (any, error) {
			old := new(OldRequest)
			return old, requestDown(as[HubRequest](hub), old)
		},
		responseUp:  func(old, hub any) error { return responseUp(as[OldResponse](old), as[HubResponse](hub)) },
		newResponse: func() any { return new(OldResponse) },
		messages:    [4]any{new(OldRequest), new(OldResponse), new(HubRequest), new(HubResponse)},
	}
}

func as[T any](message any) *T { return message.(*T) } // the table pairs them, and a test proves it

// RequestUp decodes an old request and fills the hub's from it. A value that the hub cannot hold is an *ArgumentError.
func (m *Mapping) RequestUp(decode func(any) error, hub any) error { return m.requestUp(decode, hub) }

// ResponseDown returns the old response for the hub's.
func (m *Mapping) ResponseDown(hub any) (old any) { return m.responseDown(hub) }

// Call makes a call to the hub's method on an agent that has only the old one: invoke sends the converted request and
// receives the answer. A request that the old version cannot express is an *UnsupportedError.
func (m *Mapping) Call(hubRequest, hubResponse any, invoke func(request, response any) error) error {
	request, err := m.requestDown(hubRequest)
	if err != nil {
		return err
	}
	response := m.newResponse()
	if err := invoke(request, response); err != nil {
		return err
	}
	return m.responseUp(response, hubResponse)
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
