module github.com/kubernetes-csi/csi-proxy/tools/mkwinsyscall

go 1.26.0

tool golang.org/x/sys/windows/mkwinsyscall

require golang.org/x/sys v0.49.0 // indirect
