// SPDX-License-Identifier: Apache-2.0

// Package services is the Service Control Manager of an emulated node. The checks and their order follow the pages of
// StartServiceW and ControlService.
package services
