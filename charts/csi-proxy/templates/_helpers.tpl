{{/* SPDX-License-Identifier: Apache-2.0 */}}

{{- define "csi-proxy.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "csi-proxy.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" }}
{{- else if contains (include "csi-proxy.name" .) .Release.Name }}
{{- .Release.Name | trunc 63 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name (include "csi-proxy.name" .) | trunc 63 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{/* What selects the pods; it cannot change in an upgrade. */}}
{{- define "csi-proxy.selectorLabels" -}}
app.kubernetes.io/name: {{ include "csi-proxy.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "csi-proxy.labels" -}}
{{ include "csi-proxy.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* Of pods: nothing that changes with the chart's version alone, because each change replaces all agents. */}}
{{- define "csi-proxy.podLabels" -}}
{{ include "csi-proxy.selectorLabels" . }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- with .Values.podLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* Refuses what the schema cannot explain. A path is part of a command line of cmd.exe, which starts the agent. */}}
{{- define "csi-proxy.check" -}}
{{- if and (eq .Values.mode "daemonset") (eq .Values.service.state "absent") }}
{{- fail "service.state=absent removes the Windows service and needs mode=service; with mode=daemonset the agent runs in the pods, and uninstalling the release removes it" }}
{{- end }}
{{- $paths := dict "agent.kubeletPath" .Values.agent.kubeletPath }}
{{- range $i, $path := .Values.agent.workingDirs }}
{{- $_ := set $paths (printf "agent.workingDirs[%d]" $i) $path }}
{{- end }}
{{- range $name, $path := dict "agent.policy" .Values.agent.policy "service.installDir" .Values.service.installDir }}
{{- with $path }}{{ $_ := set $paths $name . }}{{ end }}
{{- end }}
{{- /* Helm's --set takes a backslash for the mark of a character that stands for itself, and drops it. */}}
{{- $swallowed := list }}
{{- range $i, $flag := .Values.agent.extraArgs }}
{{- if and (regexMatch `^-[^=]+=[A-Za-z]:[^\\/]` $flag) (not (regexMatch `^--?pipe-security=` $flag)) }}
{{- $swallowed = append $swallowed (printf "agent.extraArgs[%d] is '%s'" $i $flag) }}
{{- end }}
{{- end }}
{{- range $name, $path := $paths }}
{{- if regexMatch `^[A-Za-z]:[^\\/]` $path }}
{{- $swallowed = append $swallowed (printf "%s is '%s'" $name $path) }}
{{- end }}
{{- end }}
{{- with $swallowed }}
{{- fail (printf "%s: the backslashes are lost, as --set drops single ones; write each twice, in single quotes, as in --set 'agent.policy=C:\\\\data\\\\policy.yaml', or use a values file" (join ", " .)) }}
{{- end }}
{{- $refused := list }}
{{- range $name, $path := $paths }}
{{- if not (regexMatch `^[A-Za-z]:\\[^"/:*?<>|%&^\r\n]*[^"/:*?<>|%&^\r\n\\ ]$` $path) }}
{{- $refused = append $refused (printf "%s is '%s'" $name $path) }}
{{- end }}
{{- end }}
{{- with $refused }}
{{- fail (printf "%s: a path begins with its drive, as in C:\\data, has backslashes, does not end with a backslash or a space, and has none of \" / : * ? < > | %% & ^ after its drive" (join ", " .)) }}
{{- end }}
{{- end }}

{{/* The annotations of an object, its own first: a list of maps, merged; nothing if they are empty. */}}
{{- define "csi-proxy.annotations" -}}
{{- $all := dict }}
{{- range . }}
{{- $all = merge $all . }}
{{- end }}
{{- with $all -}}
annotations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* Where the pods run, and as what: a process of the node, not in a container's isolation. */}}
{{- define "csi-proxy.onTheNode" -}}
os:
  name: windows
# Not in a container's isolation: a process of the node, as SYSTEM.
securityContext:
  windowsOptions:
    hostProcess: true
    runAsUserName: NT AUTHORITY\SYSTEM
hostNetwork: true
serviceAccountName: {{ include "csi-proxy.serviceAccountName" . }}
automountServiceAccountToken: false
{{- with .Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
nodeSelector:
  kubernetes.io/os: windows
  {{- with .Values.nodeSelector }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with .Values.affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.imagePullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "csi-proxy.serviceAccountName" -}}
{{- if .Values.serviceAccount.create }}
{{- default (include "csi-proxy.fullname" .) .Values.serviceAccount.name }}
{{- else }}
{{- default "default" .Values.serviceAccount.name }}
{{- end }}
{{- end }}

{{- define "csi-proxy.image" -}}
{{- $repository := required "image.repository is required: name the image of a release, or build one (deploy/image) and name its repository" .Values.image.repository }}
{{- if .Values.image.digest }}
{{- printf "%s@%s" $repository .Values.image.digest }}
{{- else }}
{{- printf "%s:%s" $repository (default .Chart.AppVersion .Values.image.tag) }}
{{- end }}
{{- end }}

{{/* The agent's flags as a YAML list. */}}
{{- define "csi-proxy.flags" -}}
- {{ printf "-kubelet-path=%s" .Values.agent.kubeletPath | quote }}
{{- range .Values.agent.workingDirs }}
- {{ printf "-working-dir=%s" . | quote }}
{{- end }}
- -require-privacy={{ .Values.agent.requirePrivacy }}
{{- if .Values.agent.eraseOnFormat }}
- -erase-on-format
{{- end }}
{{- with .Values.agent.protectedServices }}
- {{ printf "-protected-services=%s" (join "," .) | quote }}
{{- end }}
- -v={{ .Values.agent.verbosity }}
{{- range $group, $versions := .Values.agent.apis }}
{{- if kindIs "slice" $versions }}
- -api={{ $group }}={{ join "," $versions }}
{{- else }}
- -api={{ $group }}=off
{{- end }}
{{- end }}
{{- with .Values.agent.pipeSecurity }}
- {{ printf "-pipe-security=%s" . | quote }}
{{- end }}
{{- with .Values.agent.policy }}
- {{ printf "-policy=%s" . | quote }}
{{- end }}
{{- if eq .Values.metrics.exposure "loopback" }}
- -metrics-bind-address=127.0.0.1:{{ .Values.metrics.port }}
{{- else if eq .Values.metrics.exposure "node" }}
- -metrics-bind-address=$(HOST_IP):{{ .Values.metrics.port }}
{{- end }}
{{- range .Values.agent.extraArgs }}
- {{ quote . }}
{{- end }}
{{- end }}

{{/* One HTTP probe; kubelet runs on the node as well, so it reaches the node's loopback address. */}}
{{- define "csi-proxy.httpProbe" -}}
httpGet:
  {{- if eq .metrics.exposure "loopback" }}
  host: 127.0.0.1
  {{- end }}
  path: {{ .path }}
  port: {{ .metrics.port }}
{{ toYaml .settings }}
{{- end }}

{{- define "csi-proxy.hostIPEnv" -}}
- name: HOST_IP
  valueFrom:
    fieldRef:
      fieldPath: status.hostIP
{{- end }}
