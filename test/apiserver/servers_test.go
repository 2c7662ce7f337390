// SPDX-License-Identifier: Apache-2.0

//go:build linux

package apiserver

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// testTimeout is for machines that do other things at the same time. Nothing here takes a tenth of it on a quiet one.
const testTimeout = 3 * time.Minute

// startEtcd returns the address of a new etcd, on the loopback.
func startEtcd(t *testing.T, programs, dir string) string {
	t.Helper()
	client, peer := freePort(t), freePort(t)
	serve(t, dir, "etcd", exec.Command(filepath.Join(programs, "server"), // the name of its package
		"--data-dir="+filepath.Join(dir, "etcd"), "--log-level=error", "--unsafe-no-fsync",
		"--listen-client-urls=http://"+client, "--advertise-client-urls=http://"+client,
		"--listen-peer-urls=http://"+peer, "--initial-advertise-peer-urls=http://"+peer,
		"--initial-cluster=default=http://"+peer))
	return client
}

// startAPIServer starts kube-apiserver with further flags, on the loopback alone, and returns the path of an
// administrator's kubeconfig.
func startAPIServer(t *testing.T, programs, dir, etcd string, flags ...string) string {
	t.Helper()
	token := rand.Text()
	tokens := filepath.Join(dir, "tokens.csv")
	if err := os.WriteFile(tokens, []byte(token+`,admin,admin,"system:masters"`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	api := freePort(t)
	host, port, err := net.SplitHostPort(api)
	if err != nil {
		t.Fatal(err)
	}
	key := signingKey(t, dir)
	ended := serve(t, dir, "kube-apiserver", exec.Command(filepath.Join(programs, "kube-apiserver"), append(flags,
		"--etcd-servers=http://"+etcd,
		"--cert-dir="+dir, "--bind-address="+host, "--advertise-address="+host, "--secure-port="+port,
		"--token-auth-file="+tokens, "--authorization-mode=RBAC",
		"--service-account-issuer=https://kubernetes.default.svc", "--service-account-key-file="+key,
		"--service-account-signing-key-file="+key,
		"--service-cluster-ip-range=10.0.0.0/24",
		// No pod looks for the server, and it may not publish an address of the loopback.
		"--endpoint-reconciler-type=none")...))

	// The server makes its own certificate, which is its own authority.
	kubeconfig := filepath.Join(dir, "kubeconfig")
	err = os.WriteFile(kubeconfig, fmt.Appendf(nil, `apiVersion: v1
kind: Config
current-context: admin
contexts: [{name: admin, context: {cluster: loopback, user: admin}}]
users: [{name: admin, user: {token: %s}}]
clusters: [{name: loopback, cluster: {server: "https://%s", certificate-authority: %q}}]
`, token, api, filepath.Join(dir, "apiserver.crt")), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	var last error
	err = wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, testTimeout, true,
		func(ctx context.Context) (bool, error) {
			select {
			case err := <-ended:
				return false, fmt.Errorf("kube-apiserver has ended: %w", err)
			default:
			}
			config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
			if last = err; err != nil {
				return false, nil //nolint:nilerr // the certificate is not there yet
			}
			client, err := kubernetes.NewForConfig(config)
			if last = err; err != nil {
				return false, nil //nolint:nilerr // as above
			}
			last = client.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
			return last == nil, nil
		})
	if err != nil {
		t.Fatalf("kube-apiserver is not ready: %v, %v", err, last)
	}
	return kubeconfig
}

// serve runs a server until the test ends. The channel has how it ended, if it did so before.
func serve(t *testing.T, dir, name string, server *exec.Cmd) <-chan error {
	t.Helper()
	path := filepath.Join(dir, name+".log")
	log, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	server.Stdout, server.Stderr = log, log
	// A test that is killed takes its servers along.
	server.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	gone := make(chan struct{})
	go func() {
		ended <- server.Wait()
		close(gone)
	}()
	t.Cleanup(func() {
		_ = server.Process.Kill() // its data go, too
		<-gone
		_ = log.Close()
		showEnd(t, path)
	})
	return ended
}

// showEnd shows the end of a log, if the test has failed.
func showEnd(t *testing.T, log string) {
	t.Helper()
	if content, err := os.ReadFile(log); t.Failed() && err == nil {
		lines := strings.Split(string(content), "\n")
		t.Logf("the end of %s:\n%s", filepath.Base(log), strings.Join(lines[max(0, len(lines)-20):], "\n"))
	}
}

// freePort returns a free loopback address.
func freePort(t *testing.T) string {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

// signingKey returns the path of a new key for the tokens of service accounts.
func signingKey(t *testing.T, dir string) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "service-accounts.key")
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
