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

// startAPIServer starts kube-apiserver on the loopback alone, and returns the path of an administrator's kubeconfig.
func startAPIServer(t *testing.T, programs, dir, etcd string) string {
	t.Helper()
	token := rand.Text()
	tokens := filepath.Join(dir, "tokens.csv")
	ok(t, os.WriteFile(tokens, []byte(token+`,admin,admin,"system:masters"`+"\n"), 0o600))
	api := freePort(t)
	host, port, err := net.SplitHostPort(api)
	ok(t, err)
	key := signingKey(t, dir)
	ended := serve(t, dir, "kube-apiserver", exec.Command(filepath.Join(programs, "kube-apiserver"),
		"--allow-privileged=true", // as kubeadm does: without it no HostProcess pod is valid
		"--etcd-servers=http://"+etcd,
		"--cert-dir="+dir, "--bind-address="+host, "--advertise-address="+host, "--secure-port="+port,
		"--token-auth-file="+tokens, "--authorization-mode=RBAC",
		"--service-account-issuer=https://kubernetes.default.svc", "--service-account-key-file="+key,
		"--service-account-signing-key-file="+key,
		"--service-cluster-ip-range=10.0.0.0/24",
		// No pod looks for the server, and it may not publish an address of the loopback.
		"--endpoint-reconciler-type=none"))

	// The server makes its own certificate, which is its own authority.
	kubeconfig := filepath.Join(dir, "kubeconfig")
	err = os.WriteFile(kubeconfig, fmt.Appendf(nil, `apiVersion: v1
kind: Config
current-context: admin
contexts: [{name: admin, context: {cluster: loopback, user: admin}}]
users: [{name: admin, user: {token: %s}}]
clusters: [{name: loopback, cluster: {server: "https://%s", certificate-authority: %q}}]
`, token, api, filepath.Join(dir, "apiserver.crt")), 0o600)
	ok(t, err)
	eventually(t, "kube-apiserver", func(ctx context.Context) (string, string, error) {
		select {
		case err := <-ended:
			return "", "", fmt.Errorf("it has ended: %w", err)
		default:
		}
		answer, _ := exec.CommandContext(ctx, filepath.Join(programs, "kubectl"), "--kubeconfig="+kubeconfig, "get",
			"--raw=/readyz").CombinedOutput() // an error while the certificate is not there yet
		return string(answer), "ok", nil
	})
	return kubeconfig
}

// serve runs a server until the test ends. The channel has how it ended, if it did so before.
func serve(t *testing.T, dir, name string, server *exec.Cmd) <-chan error {
	t.Helper()
	path := filepath.Join(dir, name+".log")
	log, err := os.Create(path)
	ok(t, err)
	server.Stdout, server.Stderr = log, log
	// A test that is killed takes its servers along.
	server.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	ok(t, server.Start())
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
	ok(t, err)
	defer listener.Close()
	return listener.Addr().String()
}

// signingKey returns the path of a new key for the tokens of service accounts.
func signingKey(t *testing.T, dir string) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	ok(t, err)
	der, err := x509.MarshalECPrivateKey(key)
	ok(t, err)
	path := filepath.Join(dir, "service-accounts.key")
	ok(t, os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), 0o600))
	return path
}
