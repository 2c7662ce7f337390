// SPDX-License-Identifier: Apache-2.0

// Package windows gives the tests control of a real Windows machine, past the agent: virtual disks, a share, an iSCSI
// target, an agent as a process of its own. The lives of test/conformance are lived on it, and its own tests ask the
// machine the questions that Microsoft's pages leave open and log the answers.
//
// It changes the machine that it runs on, where CSI_PROXY_TEST_NODE=windows allows that, and belongs on one that is
// thrown away. No Windows machine has run it. Code that does not need Windows is portable and tried on the emulated
// node.
//
// Tests make attached VHDX files, an account, a share and its mapping, services, an iSCSI target, sessions and
// directories below kubelet's. Each has a random name that begins with csiproxy-, and goes with t.Cleanup. Automount,
// AllowLoopBack and the secret for mutual CHAP are changed only with CSI_PROXY_TEST_SETTINGS=1. Their old values are in
// HKLM\SOFTWARE\csiproxy-tests, from which TestRestoreSettings restores them after a killed test. Tests install
// nothing; run.ps1 -Settings installs the iSCSI target server. mountvol.exe, format.com and mklink are witnesses.
//
// # Questions
//
// Questions have numbers, R1 and on. TestQuestions logs each answer beside that of an emulated node, which has a switch
// where the answer could change what the agent does. TestEveryDoubtHasAQuestion ties every switch to a question.
//
//   - how disks describe themselves, best on a cloud's or array's: R1, R2, R36, R37
//   - disks online, partition tables, growing, clones: R3 to R6, R8, R12, R25, R31, R46, R52
//   - letters, arrival, formatting, locks of volumes: R7, R11, R30 (settings), R44, R45, R47, R51, R55, R56
//   - mount points, links, attributes, removal: R10, R15, R27 to R29, R38, R43, R50, R53 (Defender), R54, R57, R58
//   - shares, with accounts that may log on from the network: R16, R17, R22, R35, R41, R49
//   - iSCSI, with the target server and settings: R18, R19, R23, R26
//   - privileges: R42
//   - not asked by one run, but with two machines, pods, a restart: R9, R21, R39
//
// R39 has answers in public: after a restart of Server 2025 mappings are Disconnected
// (https://github.com/kubernetes-sigs/azurefile-csi-driver/pull/3416), and mapping again fails with 1219
// (https://github.com/Azure/AKS/issues/5612).
//
// # Assumptions
//
// No question asks these of the agent's and the emulated node's assumptions; two have a witness.
//
//   - A disk that has gone offline takes IOCTL_DISK_UPDATE_PROPERTIES; else its state counts, not the answer.
//   - An offline, read-only disk can be read sector by sector, as https://github.com/TalAloni/iSCSIConsole reads
//     offline ones; else PartitionDisk fails on it.
//   - New files inherit from a root whose list was set without AUTO_INHERITED; else its access is not its files'.
//   - 128 formats do not disturb each other; else formats fail when many pods start.
//   - An iSCSI session has its disks within 10 s of the login, as the original's test demands at once
//     (integrationtests/iscsi_test.go of v1.1.3); else GetTargetDisks lists none.
package windows
