// SPDX-License-Identifier: Apache-2.0

// Package apiversion parses and orders the version names of API groups, such
// as v1, v1beta3 and v2alpha1.
package apiversion
