{{- /* Names and labels. Every template below `services` is called with a dict of root, name and service. */}}

{{- define "sync.fullname" -}}
{{- $name := .Chart.Name -}}
{{- if contains $name .Release.Name -}}{{ .Release.Name | trunc 50 | trimSuffix "-" }}
{{- else -}}{{ printf "%s-%s" .Release.Name $name | trunc 50 | trimSuffix "-" }}{{- end -}}
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

{{- define "sync.labels" -}}
helm.sh/chart: {{ .root.Chart.Name }}-{{ .root.Chart.Version }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
{{ include "sync.selector" . }}
{{- end -}}

{{- define "sync.metadata" -}}
name: {{ include "sync.name" . }}
namespace: {{ .root.Release.Namespace }}
labels:
  {{- include "sync.labels" . | nindent 2 }}
{{- end -}}

{{- define "sync.image" -}}
{{ .root.Values.image.repository }}:{{ .service.image.tag | default .root.Values.image.tag | default .root.Chart.AppVersion }}
{{- end -}}

{{- define "sync.secretName" -}}
{{ .service.existingSecret | default (include "sync.name" .) }}
{{- end -}}

{{- /* The settings that the chart makes go before the service's own, and these before the shared ones. */}}
{{- define "sync.env" -}}
{{- $own := dict "METRICS_HOST" "0.0.0.0" "METRICS_PORT" "9464" -}}
{{- if eq .name "gateway" -}}
{{- $own = merge $own (dict "GATEWAY_HOST" "0.0.0.0" "GATEWAY_PORT" "8080") -}}
{{- end -}}
{{- range .service.secretSettings -}}
{{- $_ := set $own (printf "%s_FILE" .) (printf "/run/secrets/integration-sync/%s" .) -}}
{{- end -}}
{{- $shared := .root.Values.env -}}
{{- if ne .name "gateway" -}}
{{- $shared = merge (dict) .root.Values.storedEnv $shared -}}
{{- end -}}
{{- range $setting, $value := merge $own .service.env $shared }}
{{- /* Helm reads every number as a floating one, and would write a large one with an exponent. */}}
- name: {{ $setting }}
  value: {{ ternary (printf "%d" (int64 $value)) (toString $value) (kindIs "float64" $value) | quote }}
{{- end -}}
{{- end -}}
