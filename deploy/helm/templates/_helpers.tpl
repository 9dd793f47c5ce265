{{- /* Names and labels. Every template below `services` is called with a dict of root, name and service. */}}

{{- /* The longest name of a Service has 17 characters more, of 63 at most. */}}
{{- define "sync.fullname" -}}
{{- $name := .Chart.Name -}}
{{- if .Values.fullnameOverride -}}{{ .Values.fullnameOverride | trunc 46 | trimSuffix "-" }}
{{- else if contains $name .Release.Name -}}{{ .Release.Name | trunc 46 | trimSuffix "-" }}
{{- else -}}{{ printf "%s-%s" .Release.Name $name | trunc 46 | trimSuffix "-" }}{{- end -}}
{{- end -}}

{{- define "sync.name" -}}
{{ include "sync.fullname" .root }}-{{ .name }}
{{- end -}}

{{- /* What selects the pods of a service: never anything that an upgrade changes. */}}
{{- define "sync.selector" -}}
app.kubernetes.io/name: {{ .root.Chart.Name }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .name }}
{{- end -}}

{{- /* Of every object. What the chart itself says goes before the values. */}}
{{- define "sync.labels" -}}
{{- $own := include "sync.selector" . | fromYaml -}}
{{- $_ := set $own "helm.sh/chart" (printf "%s-%s" .root.Chart.Name .root.Chart.Version) -}}
{{- $_ := set $own "app.kubernetes.io/managed-by" .root.Release.Service -}}
{{ toYaml (merge $own (.labels | default dict) .root.Values.labels) }}
{{- end -}}

{{- /* `suffix` goes behind the name, `annotations` before those of the values. `key`: generateName, where each has another. */}}
{{- define "sync.metadata" -}}
{{ .key | default "name" }}: {{ include "sync.name" . }}{{ .suffix }}
namespace: {{ .root.Release.Namespace }}
labels:
  {{- include "sync.labels" . | nindent 2 }}
{{- with merge (dict) (.annotations | default dict) .root.Values.annotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- /* A digest goes before a tag, and the service's before that of all. */}}
{{- define "sync.image" -}}
{{- $of := .service.image | default dict -}}
{{- $all := .root.Values.image -}}
{{- $digest := $of.digest | default (ternary "" $all.digest (ne ($of.tag | default "") "")) -}}
{{- if $digest -}}{{ $all.repository }}@{{ $digest }}
{{- else -}}{{ $all.repository }}:{{ $of.tag | default $all.tag | default .root.Chart.AppVersion }}{{- end -}}
{{- end -}}

{{- define "sync.secretName" -}}
{{ .service.existingSecret | default (include "sync.name" .) }}
{{- end -}}

{{- /* Of every pod: who runs it, and where. */}}
{{- define "sync.podSpec" -}}
serviceAccountName: {{ include "sync.fullname" .root }}
automountServiceAccountToken: false
# Kubernetes would set GATEWAY_PORT, NATS_PORT and the like, for Services of these names, to addresses.
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: 1000
  runAsGroup: 1000
  fsGroup: 1000
  seccompProfile:
    type: RuntimeDefault
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .root.Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .root.Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .root.Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .root.Values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- if or .service.secretSettings .root.Values.extraVolumes }}
volumes:
  {{- if .service.secretSettings }}
  - name: secrets
    secret:
      secretName: {{ include "sync.secretName" . }}
      # Octal 440: the process is in the group (fsGroup), and others read nothing.
      defaultMode: 288
      items:
        {{- range .service.secretSettings }}
        - key: {{ . }}
          path: {{ . }}
        {{- end }}
  {{- end }}
  {{- with .root.Values.extraVolumes }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}
{{- end -}}

{{- /* Of every container: what it may do and what it finds. */}}
{{- define "sync.container" -}}
image: {{ include "sync.image" . | quote }}
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
{{- if or .service.secretSettings .root.Values.extraVolumeMounts }}
volumeMounts:
  {{- if .service.secretSettings }}
  - name: secrets
    mountPath: /run/secrets/integration-sync
    readOnly: true
  {{- end }}
  {{- with .root.Values.extraVolumeMounts }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}
{{- end -}}

{{- /* The settings that the chart makes go before the service's own, and these before the shared ones. `merge` would not do: it
takes false, 0 and '' for unset. */}}
{{- define "sync.env" -}}
{{- $own := dict -}}
{{- if ne .name "ops" -}}
{{- $own = dict "METRICS_HOST" "0.0.0.0" "METRICS_PORT" "9464" -}}
{{- end -}}
{{- if eq .name "gateway" -}}
{{- $own = merge $own (dict "GATEWAY_HOST" "0.0.0.0" "GATEWAY_PORT" "8080") -}}
{{- end -}}
{{- range .service.secretSettings -}}
{{- $_ := set $own (printf "%s_FILE" .) (printf "/run/secrets/integration-sync/%s" .) -}}
{{- end -}}
{{- $shared := .root.Values.env -}}
{{- if ne .name "gateway" -}}
{{- $shared = mergeOverwrite (dict) $shared .root.Values.storedEnv -}}
{{- end -}}
{{- range $setting, $value := mergeOverwrite (dict) $shared .service.env $own }}
{{- /* Helm reads every number as a floating one, and would write a large one with an exponent. */}}
{{- /* Helm also reads an unquoted `on` or `off` as true or false. Only CONSOLE has these values. */}}
{{- if and (eq $setting "CONSOLE") (kindIs "bool" $value) }}{{ $value = ternary "on" "off" $value }}{{ end }}
- name: {{ $setting }}
  value: {{ ternary (printf "%d" (int64 $value)) (toString $value) (kindIs "float64" $value) | quote }}
{{- end -}}
{{- with .root.Values.extraEnv }}
{{ toYaml . }}
{{- end -}}
{{- end -}}
