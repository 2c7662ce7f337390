module github.com/kubernetes-csi/csi-proxy/hack/release

go 1.26.0

require (
	github.com/CycloneDX/cyclonedx-go v0.12.0
	github.com/google/licensecheck v0.3.1
	golang.org/x/mod v0.42.0
)

require github.com/google/go-cmp v0.7.0
