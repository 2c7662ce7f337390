// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/windows/registry"
	"golang.org/x/sys/windows/svc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/kubernetes-csi/csi-proxy/client/api/system/v1alpha1"
	systemclient "github.com/kubernetes-csi/csi-proxy/client/groups/system/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/app"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winservice"
)

// wrapper stands in for nssm.exe: a service that starts what its registry key names, or for other wrappers what its
// command line does, and ends it when it is told to stop. https://git.nssm.cc/nssm/nssm/src/master/README.txt
func wrapper() int {
	if err := svc.Run("", wrapping{}); err != nil {
		return app.ExitFailed
	}
	return app.ExitOK
}

type wrapping struct{}

func (wrapping) Execute(args []string, requests <-chan svc.ChangeRequest,
	statuses chan<- svc.Status) (specific bool, code uint32) {
	program := strings.Join(os.Args[1:], " ")
	key, err := registry.OpenKey(registry.LOCAL_MACHINE, parametersOf(args[0]), registry.QUERY_VALUE)
	if err == nil {
		program, _, err = key.GetStringValue("Application")
		_ = key.Close()
		if err != nil {
			return true, 1
		}
	}
	child := exec.CommandContext(context.Background(), program)
	if err := child.Start(); err != nil {
		return true, 2
	}
	statuses <- svc.Status{State: svc.Running, Accepts: svc.AcceptStop}
	for r := range requests {
		if r.Cmd == svc.Stop {
			break
		}
		statuses <- r.CurrentStatus
	}
	_ = child.Process.Kill()
	_ = child.Wait()
	return false, 0
}

func parametersOf(service string) string {
	return `SYSTEM\CurrentControlSet\Services\` + service + `\Parameters`
}

// copyProgram makes a copy of this program, which TestMain runs by its name.
func copyProgram(t *testing.T, path string) string {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, content, 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// stopOverPipe asks the agent to stop a service, as a driver may.
func stopOverPipe(t *testing.T, name string) error {
	t.Helper()
	client, err := systemclient.NewClient()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	waitCtx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	_, err = client.StopService(waitCtx, &v1alpha1.StopServiceRequest{Name: name, Force: true})
	return err
}

// configure is sc.exe config, which Wine's sc.exe does not have.
func configure(t *testing.T, scm winservice.Manager, name, path string) {
	t.Helper()
	if !onWine() {
		command(t, 0, "sc.exe", "config", name, "binPath=", path)
		return
	}
	service, err := scm.Query(name)
	if err != nil {
		t.Fatal(err)
	}
	service.Command = strings.Fields(path)
	if err := scm.Update(service.Definition); err != nil {
		t.Fatal(err)
	}
}

// The ways of docs/move.md: each distribution's service is moved to our program, and back.
func TestMovingAServiceAndBack(t *testing.T) {
	scm := requireServices(t)
	dir := t.TempDir()
	original := copyProgram(t, filepath.Join(dir, "k", "csi-proxy.exe"))
	nssm := copyProgram(t, filepath.Join(dir, "k", "nssm.exe"))
	other := copyProgram(t, filepath.Join(dir, "k", "wrapper.exe"))
	ours := copyProgram(t, filepath.Join(dir, "ours", "csi-proxy.exe"))
	log := "-log_file=" + filepath.Join(dir, "csi-proxy.log")
	t.Cleanup(func() { _ = os.RemoveAll(`C:\etc\kubernetes\logs`) })

	for _, test := range []struct{ distribution, name, command, application, wrapper string }{
		{"the original's page, kube-up, RKE2", "csiproxy", original +
			` -windows-service -log_file=\etc\kubernetes\logs\csi-proxy.log -logtostderr=false`, "", ""},
		{"OpenShift", "csi-proxy", original + " " + log + " -logtostderr=false -windows-service --v=2", "", ""},
		{"a script without -windows-service", "csiproxy", original + " " + log + " -logtostderr=false", "", ""},
		{"a service of another name", "node-storage", original + " " + log + " -logtostderr=false", "", ""},
		{"AKS", "csi-proxy", nssm, original, nssm},
		{"another wrapper", "storage", other + " " + original, "", other},
	} {
		t.Run(test.distribution, func(t *testing.T) {
			waitCtx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			t.Cleanup(func() {
				if _, err := winservice.Uninstall(context.WithoutCancel(waitCtx), scm, test.name); err != nil {
					t.Error(err)
				}
			})
			start := func() {
				t.Helper()
				command(t, 0, "sc.exe", "start", test.name)
				if err := winservice.Start(waitCtx, scm, test.name); err != nil { // waits for what sc.exe began
					t.Fatal(err)
				}
				// A wrapper is running before its agent is.
				next := time.NewTicker(100 * time.Millisecond)
				defer next.Stop()
				for err := tryService(waitCtx); err != nil; err = tryService(waitCtx) {
					select {
					case <-next.C:
					case <-waitCtx.Done():
						t.Fatal(err)
					}
				}
			}
			protected := func() {
				t.Helper()
				err := stopOverPipe(t, test.name)
				if status.Code(err) != codes.FailedPrecondition || !strings.Contains(err.Error(), "is this agent") {
					t.Errorf("the agent was asked to stop its own service: got %v", err)
				}
			}
			wantStatus := func(code int, patterns ...string) {
				t.Helper()
				status := []string{"service", "status"}
				if test.name == "storage" { // neither its name nor its program says what it is
					status = append(status, "-name", test.name)
				}
				text := command(t, code, ours, status...)
				for _, pattern := range append(patterns, `service +`+test.name+`\s`) {
					wantText(t, text, pattern)
				}
			}
			itself := `program +` + regexp.QuoteMeta(original)
			if test.wrapper != "" {
				itself = `program +` + regexp.QuoteMeta(test.wrapper)
			}

			command(t, 0, "sc.exe", "create", test.name, "start=", "demand", "binPath=", test.command)
			if test.application != "" {
				key, _, err := registry.CreateKey(registry.LOCAL_MACHINE, parametersOf(test.name), registry.SET_VALUE)
				if err != nil {
					t.Fatal(err)
				}
				err = key.SetExpandStringValue("Application", test.application)
				_ = key.Close()
				if err != nil {
					t.Fatal(err)
				}
			}
			start()
			protected()
			wantStatus(app.ExitOK, itself)
			if strings.Contains(test.command, `=\etc`) {
				content, err := os.ReadFile(`C:\etc\kubernetes\logs\csi-proxy.log`)
				if err != nil || !strings.Contains(string(content), `"serving"`) {
					t.Errorf("the log of the drive-less path is not on C: %q, %v", content, err)
				}
			}
			if bin := os.Getenv("CSI_PROXY_BIN"); bin != "" && test.name != "storage" {
				found, _ := exec.CommandContext(waitCtx, filepath.Join(bin, "csi-proxyctl.exe"), "doctor").CombinedOutput()
				line := "service " + test.name + ": running, starts manual"
				if test.wrapper != "" {
					line += ", runs " + test.wrapper
				}
				wantText(t, string(found), regexp.QuoteMeta(line))
			}

			wantText(t, command(t, app.ExitOK, ours, "service", "install", "-name", test.name, "-start", "--", log,
				"-logtostderr=false"), "(?s)"+test.name+" was installed differently.*"+test.name+" is running")
			callService(t)
			protected()
			wantStatus(app.ExitOK, `program +`+regexp.QuoteMeta(ours))

			command(t, app.ExitOK, ours, "service", "stop", "-name", test.name)
			wantStatus(exitStopped)
			configure(t, scm, test.name, test.command)
			start()
			protected()
			wantStatus(app.ExitOK, itself)
			// OpenShift's operator would put another command line back: there the file is replaced.
			replace := func(from, to string) {
				t.Helper()
				if err := winservice.Stop(waitCtx, scm, test.name); err != nil {
					t.Fatal(err)
				}
				if err := os.Rename(from, to); err != nil {
					t.Fatal(err)
				}
			}
			replace(original, original+".kept")
			copyProgram(t, original)
			start()
			wantStatus(app.ExitOK, itself)
			replace(original+".kept", original)
			start()
			wantText(t, command(t, app.ExitOK, ours, "service", "uninstall", "-name", test.name),
				test.name+" is stopped and removed")
		})
	}
}
