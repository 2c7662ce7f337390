// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/protobuf/types/known/structpb"

	nodeapi "github.com/kubernetes-csi/csi-proxy/api/emulated/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/testnode"
)

// sharesVariable is how long TestShares goes on, such as 5m. In full it has 200 volumes on 20 shares.
const sharesVariable = "CSI_PROXY_SHARES"

// callLimit is how long a call of a driver may take, as kubelet limits it.
const callLimit = time.Minute

// TestShares: two drivers, of which each is a process, have volumes on few shares, which they stage, publish, unpublish
// and unstage at the same time. Meanwhile the agent and the drivers are killed, the node reboots in both ways that
// Windows may treat mappings, file servers stop, sessions break, and passwords change. No mapping is removed under a
// volume, none is left without volumes, and no volume stays broken once its server is back.
func TestShares(t *testing.T) {
	if testnode.OnWine() {
		t.Skip("processes start slowly on Wine")
	}
	volumes, shares, duration := 12, 3, 1500*time.Millisecond
	if testnode.Long() {
		volumes, shares, duration = 60, 10, 15*time.Second
	}
	if text := os.Getenv(sharesVariable); text != "" {
		var err error
		if duration, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
		volumes, shares = 200, 20
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	l := newShareLoad(t, rand.New(rand.NewPCG(seed, 0)), volumes, shares)
	for end := time.Now().Add(duration); time.Now().Before(end); {
		l.round()
	}
	l.finish()
	t.Logf("%d volumes on %d shares of %d servers: %v", volumes, shares, len(l.servers), l.count)
}

// A shareVolume is a directory of a share. Staged is nil while a failure leaves it open.
type shareVolume struct {
	name, share string
	driver      int
	staged      *bool
}

func (v *shareVolume) staging() string {
	return `C:\var\lib\kubelet\plugins\kubernetes.io\csi\windows.csi.example.com\` + v.name + `\globalmount`
}

// shareLoad is a node with two drivers and their volumes.
type shareLoad struct {
	*kubelet

	random   *rand.Rand
	drivers  [2]*machine
	volumes  []*shareVolume
	servers  []string
	password string
	down     map[string]bool // servers
	needed   map[string]bool // shares that are mapped for a volume, with credentials that are still good
	count    map[string]int
}

func newShareLoad(t *testing.T, random *rand.Rand, volumes, shares int) *shareLoad {
	t.Helper()
	one := startMachine(t)
	other := *one // the same agent, and the same directory of records
	other.startPlugin()
	l := &shareLoad{
		kubelet: &kubelet{machine: one}, random: random, drivers: [2]*machine{one, &other},
		password: "csi-password", down: map[string]bool{}, needed: map[string]bool{}, count: map[string]int{},
	}
	for i := range min(shares, 4) {
		l.servers = append(l.servers, fmt.Sprintf("server%d.emulated", i))
	}
	for i := range shares {
		l.AddSMBShare(l.servers[i%len(l.servers)], fmt.Sprint("share", i))
	}
	for i := range volumes {
		share := i % shares
		l.volumes = append(l.volumes, &shareVolume{
			name: fmt.Sprint("v", i), share: fmt.Sprintf(`\\%s\share%d`, l.servers[share%len(l.servers)], share),
			driver: i / shares % 2, staged: new(bool),
		})
	}
	return l
}

// round has several volumes come or go at the same time, disturbs that once, and checks the mappings.
func (l *shareLoad) round() {
	l.t.Helper()
	l.count["rounds"]++
	chosen := l.random.Perm(len(l.volumes))[:min(len(l.volumes), 8)]
	password, quiet := l.password, len(l.down) == 0
	ended := make(chan int, len(chosen))
	results := make([]error, len(chosen))
	wanted := make([]bool, len(chosen))
	for i, at := range chosen {
		v := l.volumes[at]
		wanted[i] = l.random.IntN(5) > 1
		want, connection := wanted[i], l.drivers[v.driver].connect()
		go func() {
			results[i] = v.change(csi.NewNodeClient(connection), want, password)
			_ = connection.Close()
			ended <- i
		}()
	}
	// Something happens when so many calls have ended.
	after := l.random.IntN(len(chosen))
	for range after {
		<-ended
	}
	injected := l.injectFault()
	for range len(chosen) - after {
		<-ended
	}
	for i, at := range chosen {
		v := l.volumes[at]
		v.staged = nil
		switch {
		case results[i] == nil:
			v.staged = &wanted[i]
			l.count["calls"]++
			l.needed[v.share] = l.needed[v.share] || wanted[i]
		case quiet && injected == "":
			l.t.Errorf("%s: staged: %t: %v, and nothing was disturbed", v.name, wanted[i], results[i])
		default:
			l.count["failures"]++
		}
	}
	if injected == "reboot" || injected == "password" {
		clear(l.needed) // mappings that are gone, or may be made again
	}
	l.checkMappings()
}

// change makes kubelet's calls for a volume that is to be staged and published, or not to be any more.
func (v *shareVolume) change(node csi.NodeClient, staged bool, password string) error {
	ctx, cancel := context.WithTimeout(context.Background(), callLimit)
	defer cancel()
	if !staged {
		_, err := node.NodeUnpublishVolume(ctx, &csi.NodeUnpublishVolumeRequest{VolumeId: v.name, TargetPath: target(v.name)})
		if err == nil {
			_, err = node.NodeUnstageVolume(ctx, &csi.NodeUnstageVolumeRequest{VolumeId: v.name, StagingTargetPath: v.staging()})
		}
		return err
	}
	_, err := node.NodeStageVolume(ctx, &csi.NodeStageVolumeRequest{
		VolumeId: v.name, StagingTargetPath: v.staging(), VolumeCapability: capability(),
		VolumeContext: map[string]string{"source": v.share}, Secrets: secrets(password),
	})
	if err != nil {
		return err
	}
	return v.publish(ctx, node, password)
}

// publish makes kubelet's call for a pod, which heals a share whose mapping has become useless.
func (v *shareVolume) publish(ctx context.Context, node csi.NodeClient, password string) error {
	_, err := node.NodePublishVolume(ctx, &csi.NodePublishVolumeRequest{
		VolumeId: v.name, StagingTargetPath: v.staging(), TargetPath: target(v.name), VolumeCapability: capability(),
		VolumeContext: map[string]string{"source": v.share}, Secrets: secrets(password),
	})
	return err
}

func secrets(password string) map[string]string {
	return map[string]string{"username": "csi", "password": password}
}

// injectFault does something to the node or the drivers, or nothing, and returns what.
func (l *shareLoad) injectFault() (what string) {
	l.t.Helper()
	server := l.servers[l.random.IntN(len(l.servers))]
	switch l.random.IntN(9) {
	case 0:
		what = "driver"
		d := l.drivers[l.random.IntN(2)]
		d.plugin.Kill()
		d.startPlugin()
	case 1:
		what = "agent"
		l.machine.agent.Kill()
		l.startAgent()
	case 2:
		what = "reboot"
		ask(l.machine, l.admin.Change, &nodeapi.ChangeRequest{Document: &structpb.Struct{Fields: map[string]*structpb.Value{
			"switches": structpb.NewStructValue(&structpb.Struct{Fields: map[string]*structpb.Value{
				"mappingsOutliveReboot": structpb.NewBoolValue(l.random.IntN(2) == 0)}})}}})
		for _, d := range l.drivers {
			d.plugin.Kill()
		}
		ask(l.machine, l.admin.Reboot, &nodeapi.RebootRequest{})
		for _, d := range l.drivers {
			d.startPlugin()
		}
	case 3:
		what = "password"
		l.password = fmt.Sprint("password-", l.random.Int())
		l.change("smbUsers", map[string]any{"name": "csi", "password": l.password})
	case 4:
		what = "outage"
		l.down[server] = true
		l.change("smbServers", map[string]any{"name": server, "stopped": true})
	case 5:
		what = "sessions"
		ask(l.machine, l.admin.Remove, &nodeapi.RemoveRequest{
			Document: nodeapi.Document("smbSessions", map[string]any{"server": server})})
	case 6, 7:
		l.restore()
	}
	if what != "" {
		l.count[what]++
	}
	return what
}

// change changes an element of a list of the node.
func (l *shareLoad) change(list string, element map[string]any) {
	l.t.Helper()
	ask(l.machine, l.admin.Change, &nodeapi.ChangeRequest{Document: nodeapi.Document(list, element)})
}

// restore starts the file servers that stand still.
func (l *shareLoad) restore() {
	l.t.Helper()
	for server := range l.down {
		l.change("smbServers", map[string]any{"name": server, "stopped": false})
	}
	clear(l.down)
}

// checkMappings fails the test if a needed share is not mapped, or an unused one is.
func (l *shareLoad) checkMappings() {
	l.t.Helper()
	mapped, unsure := l.mappings(), l.unsure()
	users, known := map[string]string{}, map[string]bool{}
	for _, v := range l.volumes {
		if _, ok := known[v.share]; !ok {
			known[v.share] = true
		}
		known[v.share] = known[v.share] && v.staged != nil
		if v.staged != nil && *v.staged {
			users[v.share] = v.name
		}
	}
	for share, all := range known {
		switch user := users[share]; {
		case user != "" && l.needed[share] && !mapped[share]:
			l.t.Fatalf("%s is not mapped, and %s uses it: %v", share, user, l.count)
		case user == "" && all && mapped[share] && !unsure[share]:
			l.t.Fatalf("%s is mapped and unused: %v", share, l.count)
		case user == "":
			delete(l.needed, share)
		}
	}
}

func (l *shareLoad) mappings() map[string]bool {
	l.t.Helper()
	mapped := map[string]bool{}
	for _, m := range l.facts().GetMappings() {
		mapped[strings.ToLower(m.GetRemotePath())] = true
	}
	return mapped
}

// unsure returns the shares that an agent was mapping when it was killed. It does not know then whose the mapping is,
// so it keeps it: docs/decisions/users-of-shares.md.
func (l *shareLoad) unsure() map[string]bool {
	l.t.Helper()
	shares := map[string]bool{}
	files, _ := filepath.Glob(filepath.Join(l.dir, "shares", "*.share"))
	for _, file := range files {
		var record struct{ Share, Made string }
		text, err := os.ReadFile(file)
		if err == nil {
			err = json.Unmarshal(text, &record)
		}
		l.must("reading what is recorded of a share", err)
		shares[strings.ToLower(record.Share)] = record.Made == "begun"
	}
	return shares
}

// finish ends all disturbances, checks that every volume works that should, and removes all of them.
func (l *shareLoad) finish() {
	l.t.Helper()
	l.restore()
	for _, v := range l.volumes {
		connection := l.drivers[v.driver].connect()
		if v.staged == nil || *v.staged {
			l.must("healing "+v.name, v.heal(csi.NewNodeClient(connection), l.password))
		}
		_ = connection.Close()
	}
	for _, v := range l.volumes {
		connection := l.drivers[v.driver].connect()
		l.must("removing "+v.name, v.change(csi.NewNodeClient(connection), false, l.password))
		_ = connection.Close()
	}
	unsure := l.unsure()
	for share := range l.mappings() {
		if !unsure[share] {
			l.t.Errorf("%s is left mapped", share)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(l.dir, "shares", "*.json")); len(left) > 0 {
		l.t.Errorf("records are left: %q", left)
	}
	for _, at := range l.facts().GetLinks() {
		if at.GetMissing() {
			l.t.Errorf("%v leads nowhere", at)
		}
	}
}

// heal has a volume published again, or staged again if that is not known, and returns an error unless it works then.
func (v *shareVolume) heal(node csi.NodeClient, password string) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), callLimit)
	defer cancel()
	if v.staged == nil {
		err = v.change(node, true, password)
	} else {
		err = v.publish(ctx, node, password)
	}
	if err != nil {
		return err
	}
	answer, err := node.NodeGetVolumeHealth(ctx,
		&csi.NodeGetVolumeHealthRequest{VolumeId: v.name, VolumePublishPath: target(v.name), StagingTargetPath: v.staging()})
	if err == nil && len(answer.GetVolumeHealth().GetHealthStatuses()) > 0 {
		err = errors.New(answer.String())
	}
	return err
}
