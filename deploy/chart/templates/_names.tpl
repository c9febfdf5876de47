{{/* The release's name, with that of the chart unless it says it already. */}}
{{- define "portcullis.name" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{ .Release.Name | trunc 50 | trimSuffix "-" }}
{{- else -}}
{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 50 | trimSuffix "-" }}
{{- end -}}
{{- end -}}

{{- define "portcullis.controller" -}}
{{ include "portcullis.name" . }}-controller
{{- end -}}

{{- define "portcullis.serviceAccount" -}}
{{ .Values.serviceAccount.name | default (include "portcullis.controller" .) }}
{{- end -}}

{{- define "portcullis.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}

{{/* What tells the controller's pods from all others; it never changes. */}}
{{- define "portcullis.selector" -}}
app.kubernetes.io/name: portcullis
app.kubernetes.io/component: controller
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "portcullis.labels" -}}
{{ include "portcullis.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version | replace "+" "_" }}
{{- end -}}
