// SPDX-License-Identifier: Apache-2.0

//go:build unix

package page

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"testing"
)

// A browser is a headless Chromium that is told what to do over pipes, by the DevTools protocol.
type browser struct {
	to io.Writer

	mu      sync.Mutex
	last    int
	waiting map[int]chan reply
}

type reply struct {
	ID     int             `json:"id"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Message string `json:"message"`
	} `json:"error"`
}

// A tab is a tab of the browser, in a test.
type tab struct {
	*browser
	t       *testing.T
	session string
}

// launch starts the browser that CSI_PROXY_BROWSER names.
func launch(t *testing.T) *browser {
	t.Helper()
	path := os.Getenv("CSI_PROXY_BROWSER")
	if path == "" {
		t.Skip("CSI_PROXY_BROWSER names no browser; make check-page installs one")
	}
	theirIn, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out, theirOut, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	args := []string{
		"--headless", "--remote-debugging-pipe", "--user-data-dir=" + t.TempDir(), "--hide-scrollbars", "--disable-gpu",
		"--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking", "--disable-component-update",
		"--disable-extensions",
	}
	if os.Getuid() == 0 {
		args = append(args, "--no-sandbox") // root has no sandbox, and the page is ours
	}
	command := exec.Command(path, args...)
	command.ExtraFiles = []*os.File{theirIn, theirOut} // 3 and 4
	var log bytes.Buffer
	command.Stderr = &log
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	_, _ = theirIn.Close(), theirOut.Close()
	b := &browser{to: in, waiting: map[int]chan reply{}}
	read := make(chan struct{})
	go func() { b.read(out); close(read) }()
	t.Cleanup(func() {
		_ = in.Close() // which ends it
		<-read
		_ = command.Wait()
		if t.Failed() {
			t.Logf("the browser says:\n%s", log.String())
		}
	})
	return b
}

// open opens an address in a new tab.
func (b *browser) open(t *testing.T, url string) *tab {
	t.Helper()
	in := &tab{browser: b, t: t}
	var target struct{ TargetID, SessionID string }
	in.call("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	in.call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &target)
	in.session = target.SessionID
	in.call("Emulation.setDeviceMetricsOverride",
		map[string]any{"width": 1280, "height": 860, "deviceScaleFactor": 1, "mobile": false}, nil)
	in.call("Page.navigate", map[string]any{"url": url}, nil)
	return in
}

// read passes answers on until the browser has gone.
func (b *browser) read(out io.Reader) {
	reader := bufio.NewReader(out)
	for {
		message, err := reader.ReadBytes(0)
		if err != nil {
			break
		}
		var r reply
		if json.Unmarshal(message[:len(message)-1], &r) != nil || r.ID == 0 {
			continue // an event
		}
		b.mu.Lock()
		c := b.waiting[r.ID]
		delete(b.waiting, r.ID)
		b.mu.Unlock()
		c <- r
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range b.waiting {
		close(c)
	}
	b.waiting = nil
}

// call makes a call of the protocol, which must succeed.
func (b *tab) call(method string, params map[string]any, result any) {
	b.t.Helper()
	if err := b.try(method, params, result); err != nil {
		b.t.Fatalf("%s: %v", method, err)
	}
}

func (b *tab) try(method string, params map[string]any, result any) error {
	message := map[string]any{"method": method, "params": params}
	if b.session != "" {
		message["sessionId"] = b.session
	}
	answer := make(chan reply, 1)
	b.mu.Lock()
	b.last++
	message["id"] = b.last
	gone := b.waiting == nil
	if !gone {
		b.waiting[b.last] = answer
	}
	b.mu.Unlock()
	text, err := json.Marshal(message)
	if err == nil && !gone {
		_, err = b.to.Write(append(text, 0))
	}
	if err != nil {
		return err
	}
	if gone {
		return errGone
	}
	r, ok := <-answer
	switch {
	case !ok:
		return errGone
	case r.Error != nil:
		return errors.New(r.Error.Message)
	case result != nil:
		return json.Unmarshal(r.Result, result)
	}
	return nil
}

var errGone = errors.New("the browser has gone")

// eval runs JavaScript in the page and sets result, a pointer or nil, to its value.
func (b *tab) eval(script string, result any) {
	b.t.Helper()
	var r struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails *struct {
			Text      string
			Exception struct{ Description string }
		}
	}
	err := b.try("Runtime.evaluate", map[string]any{"expression": script, "awaitPromise": true, "returnByValue": true}, &r)
	for ; err != nil && !errors.Is(err, errGone); err = b.try("Runtime.evaluate",
		map[string]any{"expression": script, "awaitPromise": true, "returnByValue": true}, &r) {
		b.t.Logf("again, as the page was loaded meanwhile: %v", err)
	}
	if err != nil {
		b.t.Fatal(err)
	}
	if e := r.ExceptionDetails; e != nil {
		b.t.Fatalf("%s: %s %s", script, e.Text, e.Exception.Description)
	}
	if result != nil {
		if err := json.Unmarshal(r.Result.Value, result); err != nil {
			b.t.Fatalf("%s: %s: %v", script, r.Result.Value, err)
		}
	}
}

// until waits until a condition of the page is true.
func (b *tab) until(condition string) {
	b.t.Helper()
	b.eval(fmt.Sprintf(`new Promise((met, late) => {
		const began = Date.now();
		(function look() {
			let so = false;
			try { so = %[1]s } catch (error) { if (Date.now() - began > 15000) { late(error); return } }
			if (so) met(); else if (Date.now() - began > 15000) late(new Error(%[2]q + ' is not so; the page: ' + document.body.innerText)); else setTimeout(look, 20);
		})();
	})`, condition, condition), nil)
}

// click clicks with the mouse on an element, which a script finds, as a user does: on what is visible there.
func (b *tab) click(element string) {
	b.t.Helper()
	var at struct{ X, Y float64 }
	b.eval(`(() => { const e = `+element+`; e.scrollIntoView({block: 'center'}); const r = e.getBoundingClientRect(); return {x: r.x + r.width / 2, y: r.y + r.height / 2}; })()`, &at)
	for _, what := range []string{"mouseMoved", "mousePressed", "mouseReleased"} {
		b.call("Input.dispatchMouseEvent",
			map[string]any{"type": what, "x": at.X, "y": at.Y, "button": "left", "clickCount": 1}, nil)
	}
}

// fill types a text into a field in place of its content.
func (b *tab) fill(element, text string) {
	b.t.Helper()
	b.click(element)
	b.eval(element+`.select()`, nil)
	b.call("Input.insertText", map[string]any{"text": text}, nil)
}
