module github.com/kubernetes-csi/csi-proxy/mounter

go 1.26.0

require (
	github.com/kubernetes-csi/csi-proxy/client v0.0.0
	k8s.io/mount-utils v0.37.2
)

require (
	github.com/Microsoft/go-winio v0.6.4 // indirect
	github.com/go-logr/logr v1.4.4 // indirect
	github.com/moby/sys/mountinfo v0.7.2 // indirect
	golang.org/x/net v0.60.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
	golang.org/x/text v0.42.0 // indirect
	google.golang.org/genproto/googleapis/rpc v0.0.0-20260817212433-ac3dfec99bb1 // indirect
	google.golang.org/grpc v1.85.0 // indirect
	google.golang.org/protobuf v1.36.12 // indirect
	k8s.io/klog/v2 v2.140.0 // indirect
	k8s.io/utils v0.0.0-20260626114624-be93311217bd // indirect
)

replace github.com/kubernetes-csi/csi-proxy/client => ../client
