// SPDX-License-Identifier: Apache-2.0

// Protoc-gen-go-csiproxy generates the drop-in clients: for the service in
// <module>/api/<group>/<version> a package <module>/groups/<group>/<version>
// with a Client that dials that version's endpoint. It also writes the package
// comment of the stubs. With the option library=MODULE it generates the groups
// of the in-process library in its place: requests, responses and the calls
// whose fields need no conversion.
//
// It is a protoc plugin and takes the options of protoc-gen-go; the useful one
// of these is module. Files without a service, and services outside an api
// folder, get no client. Adding a version to the API needs no change here.
package main
