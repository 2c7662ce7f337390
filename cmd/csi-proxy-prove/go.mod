module github.com/kubernetes-csi/csi-proxy/cmd/csi-proxy-prove

go 1.26.0

require (
	github.com/Microsoft/go-winio v0.6.4
	github.com/google/go-cmp v0.7.0
	github.com/kubernetes-csi/csi-proxy v0.0.0
	github.com/kubernetes-csi/csi-proxy/client v0.0.0
	github.com/kubernetes-csi/csi-proxy/test v0.0.0
	github.com/rogpeppe/go-internal v1.16.0
	golang.org/x/sys v0.49.0
)

require (
	github.com/go-logr/logr v1.4.4 // indirect
	github.com/go-ole/go-ole v1.3.0 // indirect
	golang.org/x/net v0.60.0 // indirect
	golang.org/x/text v0.42.0 // indirect
	golang.org/x/tools v0.50.0 // indirect
	google.golang.org/genproto/googleapis/rpc v0.0.0-20261019180522-ce908d29299b // indirect
	google.golang.org/grpc v1.85.0 // indirect
	google.golang.org/protobuf v1.36.12 // indirect
	k8s.io/klog/v2 v2.140.0 // indirect
)

replace (
	github.com/kubernetes-csi/csi-proxy => ../../
	github.com/kubernetes-csi/csi-proxy/client => ../../client
	github.com/kubernetes-csi/csi-proxy/test => ../../test
)
