// SPDX-License-Identifier: Apache-2.0

// Protoc-gen-csiproxy-docs generates the API reference for driver authors from
// the comments of the .proto files and from the tables of client/versions: one
// Markdown page for each group and version, GROUP/VERSION.md, and README.md with
// an overview of all of them.
//
// It is a protoc plugin without options. It must get all files in one request
// (strategy: all), because pages link to each other. For a method without a row
// in the tables the page says so, because the stubs are generated before the
// rows, which may need them, are written.
package main
