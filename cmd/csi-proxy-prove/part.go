// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io/fs"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/kubernetes-csi/csi-proxy/internal/proof"
)

// A part is one part of a run: commands, most of them this project's own compiled tests.
type part struct {
	name    string
	does    string   // to the machine, shown before the question
	systems []string // where it can run
	needs   []need
	steps   []step
	limit   time.Duration // of each step
	minutes int           // that it takes, about
}

// A need is something that a machine may lack.
type need int

const (
	freePipes need = iota // no other agent serves the pipes, and no driver waits for them
	noService             // no service csiproxy
	freeDisk              // some space for disks that are files
)

// minFree is how many bytes the disks and programs of a part may take. The VHDX files grow as they are written to.
const minFree = 2 << 30

// unmetNeed returns why a part cannot run on a machine, or "".
func (k *kit) unmetNeed(p part, m machine) string {
	if !slices.Contains(p.systems, m.System) {
		return fmt.Sprintf("it is for %s, and this is %s", strings.Join(p.systems, " or "), systemText(m))
	}
	for _, n := range p.needs {
		switch {
		case n == freePipes && len(m.agentPipes) > 0:
			return fmt.Sprintf("another agent serves its pipes here (%s): stop it first, on a machine whose pods do not need it",
				m.agentPipes[0])
		case n == freePipes && m.inUse != "":
			return m.inUse
		case n == noService && m.service != "":
			return "a service csiproxy is installed here (" + m.service + "), and the kit touches none that it did not make"
		case n == freeDisk && m.noDisks != "":
			return m.noDisks
		case n == freeDisk && m.freeBytes < minFree:
			return fmt.Sprintf("it needs %d MiB of free space in %s, and there are %d", minFree>>20, m.base, m.freeBytes>>20)
		}
	}
	for _, s := range p.steps {
		if _, err := fs.Stat(k.archive, fileOf(s.program)); err != nil {
			return "this kit was built without " + s.program
		}
	}
	return ""
}

// fileOf returns the name of a program's file.
func fileOf(program string) string {
	if runtime.GOOS == "windows" {
		return program + ".exe"
	}
	return program
}

// systemText returns a machine's system for people.
func systemText(m machine) string {
	switch m.System {
	case proof.Wine:
		return "Wine " + m.Wine + " (not Windows)"
	case proof.Windows:
		return "Windows " + m.Build
	}
	return "neither Windows nor Wine"
}

// A step is one command.
type step struct {
	name    string // of its check, where it is not a test; empty: it is a test
	program string // of the kit
	args    []string
	env     []string
	beside  *step // runs meanwhile, and is ended after the step
	writes  bool  // its output is the result: figures
}

// parts returns the parts of the kit, in their order: what no other machine can show comes first, since a machine may
// be taken away.
func parts() []part {
	const (
		long  = 40 * time.Minute
		brief = 10 * time.Minute
	)
	all := []string{proof.Windows, proof.Wine, proof.Emulated}
	onWindows, onBoth := []string{proof.Windows}, []string{proof.Windows, proof.Wine}
	test := func(program, run string, env ...string) step {
		return step{program: program, args: []string{"-test.run=" + run, "-test.timeout=0", "-test.count=1"}, env: env}
	}
	const machine, inProcess = "CSI_PROXY_TEST_NODE=windows", "CSI_PROXY_TEST_AGENT=in-process"
	const recorded = "CSI_PROXY_RECORDING={dir}/" + callsName
	lifecycles := func(agent string) step {
		return test("conformance.test", "Lifecycle", machine, "CSI_PROXY_TEST_AGENT="+agent)
	}
	const makes = "It makes VHDX disks, directories below C:\\var\\lib\\kubelet, shares with users of its own, services " +
		"that do nothing, and, where the iSCSI target server is installed and has no targets, a target; the server is " +
		"restarted for it. An iSCSI initiator that no one uses gets portals and sessions and, with -chap, a secret for " +
		"mutual CHAP in place of one that was set in advance. It takes all of them away again."
	return []part{
		{
			name: "machine", minutes: 2, systems: onBoth, limit: brief, needs: []need{freePipes, noService},
			does: "What the other parts are made of: accounts, services that do nothing, a command as SYSTEM, registry values " +
				"of the kit's own; and who may open the agent's pipes, with fewer rights and with enough.",
			steps: []step{test("windows.test",
				"^(TestServices|TestLeftServicesAreRemoved|TestAsSystem|TestRegistryValuesAreRestored|"+
					"TestAccountsAreKnownByTheirComment|"+
					"TestBIOSSerial|TestTokens|TestPipesFromARestrictedToken|TestPolicyOfAPipesClient)$", machine)},
		},
		{
			name: "questions", minutes: 12, systems: onWindows, limit: long, needs: []need{freePipes, freeDisk},
			does:  "The open questions about Windows. " + makes + " Automount is switched off and on, and put back.",
			steps: []step{test("windows.test", "^TestQuestions$", machine)},
		},
		{
			name: "disks", minutes: 3, systems: onWindows, limit: long, needs: []need{freePipes, freeDisk},
			does: "Disks that are attached, grown and pulled, disks that drivers seldom have, and links that lead elsewhere. " +
				"It makes VHDX disks, directories and links, and takes all of them away again.",
			steps: []step{test("windows.test", "^(TestDisks|TestUnusualDisks|TestLinksThatLeadOut)$", machine)},
		},
		{
			name: "lives-in-process", minutes: 6, systems: onWindows, limit: long, needs: []need{freePipes, freeDisk},
			does:  "The lives of all methods on this machine, without pipes, with each kernel call recorded. " + makes,
			steps: []step{test("conformance.test", "Lifecycle", machine, inProcess, recorded)},
		},
		{
			name: "calls", minutes: 1, systems: []string{proof.Wine}, limit: brief, needs: []need{freePipes},
			does: "Each call of all methods once, against Wine's kernel, and how it ended, with each kernel call recorded. " +
				"Not for Windows, where its calls would reach disks that are in use: there the lives make them, on disks of " +
				"their own.",
			steps: []step{test("operation.test", "^TestEveryCallOnThisMachine$", inProcess, recorded)},
		},
		{
			name: "service", minutes: 1, systems: onBoth, limit: brief, needs: []need{freePipes, noService},
			does: "The service csiproxy: installed, started, upgraded in place, stopped while a client keeps it busy, and " +
				"removed. The agent reads this machine's disks meanwhile.",
			steps: []step{
				serviceStep("install", "-v=2"),
				serviceStep("upgrade", "-v=4"),
				{name: "status", program: agentProgram, args: []string{"service", "status"}},
				{
					name: "stop while busy", program: agentProgram, args: []string{"service", "stop"},
					beside: &step{program: "csi-proxyctl", args: []string{"wait", "disk", "none", "--timeout=2m"}},
				},
				{name: "uninstall", program: agentProgram, args: []string{"service", "uninstall"}},
			},
		},
		{
			name: "lives-child", minutes: 6, systems: onWindows, limit: long, needs: []need{freePipes, freeDisk},
			does:  "The same lives through the pipes of an agent that is a child process. " + makes,
			steps: []step{lifecycles("child")},
		},
		{
			name: "lives-service", minutes: 6, systems: onWindows, limit: long, needs: []need{freePipes, noService, freeDisk},
			does: "The same lives through the pipes of an agent that is a service, which is installed before and removed " +
				"after them. " + makes,
			steps: []step{
				serviceStep("install", "-v=4"),
				lifecycles("service"),
				{name: "uninstall", program: agentProgram, args: []string{"service", "uninstall"}},
			},
		},
		{
			name: "timing", minutes: 3, systems: onWindows, limit: long, needs: []need{freePipes},
			does: "The agent's start, memory and PathExists beside a bare gRPC echo on a pipe. It changes nothing.",
			steps: []step{{name: "figures", program: "bench", args: []string{"-programs={dir}/programs", "-rounds=5"},
				writes: true}},
		},
		{
			name: "emulated", minutes: 4, systems: all, limit: long,
			does: "The lives of all methods on emulated nodes, through this system's pipes and files. It touches nothing but " +
				"its own directory.",
			steps: []step{test("conformance.test", "Lifecycle")},
		},
		{
			name: "sequences", minutes: 2, systems: all, limit: long,
			does: "The call sequences of the AWS, Azure, Google, vSphere and local drivers, on emulated nodes. It touches " +
				"nothing but its own directory.",
			steps: []step{test("sequences.test",
				"^(TestUndisturbed|TestLocalProvisioner|TestErasingProvisioner|TestAzureFindsTheRightDisk)$")},
		},
	}
}

const agentProgram = "csi-proxy"

// serviceStep installs the service, or changes it in place, and starts it. Its log is in the kit's directory.
func serviceStep(name string, verbosity string) step {
	return step{name: name, program: agentProgram, args: []string{"service", "install", "-start", "--", verbosity,
		"-logtostderr=false", `-log_file={dir}\agent\csi-proxy.log`}}
}
