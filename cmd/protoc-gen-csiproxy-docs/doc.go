// SPDX-License-Identifier: Apache-2.0

// Protoc-gen-csiproxy-docs generates the API reference for driver authors from the comments of the .proto files and
// from the tables of client/versions: a Markdown page for each group, GROUP.md, which has its newest version and the
// methods that only older ones have, README.md with an overview, and GROUP_v1.md, where the original's page of a group
// was, with a link.
//
// It is a protoc plugin without options. It must get all files in one request
// (strategy: all), because pages link to each other.
package main
