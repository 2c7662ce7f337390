module github.com/kubernetes-csi/csi-proxy/tools/goversioninfo

go 1.26

tool github.com/josephspurrier/goversioninfo/cmd/goversioninfo

require (
	github.com/akavel/rsrc v0.10.2 // indirect
	github.com/josephspurrier/goversioninfo v1.7.0 // indirect
)
