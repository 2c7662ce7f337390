// SPDX-License-Identifier: Apache-2.0

// Package faults disturbs kernel calls and API calls on demand: it lets them fail, wait, hang, lose their connection or
// end the process, before or after they took effect.
package faults
