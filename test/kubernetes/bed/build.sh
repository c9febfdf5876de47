#!/usr/bin/env bash
# Fills the test bed: the programs of a cluster in one binary, the CRDs of the Gateway API, and helm.
#
#   build.sh [--api] [FOLDER]
#
# With --api only what an API server needs: no pods and no helm.
# FOLDER is $PORTCULLIS_TESTBED or ~/.cache/portcullis/testbed unless given; it lies outside the checkout, because what
# takes a quarter of an hour of two cores ought to outlive one. What is there and of the right version stays.
set -euo pipefail

only=everything
if [ "${1:-}" = --api ]; then
  only=api
  shift
fi

here=$(cd "$(dirname "$0")" && pwd)
folder=${1:-${PORTCULLIS_TESTBED:-${XDG_CACHE_HOME:-$HOME/.cache}/portcullis/testbed}}
gateway_api=v1.6.3
helm=v3.22.0

command -v go >/dev/null || { echo "build.sh: the Go toolchain is needed (go.dev/dl)" >&2; exit 1; }
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)

# One builder at a time; the others wait for it and find everything done.
exec 9>"$folder/.building"
flock 9

# What the binary was built from, so that a change of version or source builds it anew.
sources=$(cat "$here"/kube/{main.go,go.mod,go.sum} | sha256sum | cut -d' ' -f1)
if [ ! -x "$folder/kube" ] || [ "$(cat "$folder/kube.sources" 2>/dev/null)" != "$sources" ]; then
  echo "building the cluster's programs into $folder/kube"
  cd "$here/kube"
  version=$(go list -m -f '{{.Version}}' k8s.io/kubernetes)
  IFS=. read -r major minor _ <<<"${version#v}"
  # Without these, the programs call themselves v0.0.0-master and kubectl warns at every call.
  flags=""
  for package in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
    for value in "gitVersion=$version" "gitMajor=$major" "gitMinor=$minor" "gitTreeState=clean" \
      "gitCommit=$version" "buildDate=1970-01-01T00:00:00Z"; do
      flags+=" -X $package.$value"
    done
  done
  CGO_ENABLED=0 go build -buildvcs=false -trimpath -ldflags "-s -w$flags" -o "$folder/kube.new" .
  # The tests start what is there: never a half-written file.
  mv "$folder/kube.new" "$folder/kube"
  echo "$sources" >"$folder/kube.sources"
fi

if [ ! -d "$folder/crds/$gateway_api" ]; then
  echo "taking the CRDs of the Gateway API $gateway_api"
  module=$(cd "$here/kube" && go mod download -json "sigs.k8s.io/gateway-api@$gateway_api" |
    sed -n 's/.*"Dir": "\(.*\)".*/\1/p')
  rm -rf "$folder/crds.new"
  mkdir -p "$folder/crds" "$folder/crds.new"
  cp -R "$module/config/crd/standard" "$module/config/crd/experimental" "$folder/crds.new/"
  chmod -R u+w "$folder/crds.new"
  mv "$folder/crds.new" "$folder/crds/$gateway_api"
fi
if [ "$only" = api ]; then
  echo "the bed is in $folder"
  exit 0
fi
if [ ! -e "$folder/pause.tar" ] || [ "$here/pause/main.go" -nt "$folder/pause.tar" ]; then
  echo "making the image that holds pods together"
  mkdir -p "$folder/pause"
  (cd "$here/pause" && CGO_ENABLED=0 go build -buildvcs=false -trimpath -ldflags '-s -w' -o "$folder/pause/pause" .)
  "$here/../../../deploy/oci.sh" "$folder/pause.tar" registry.test/pause:1 \
    '{"User":"65535:65535","Entrypoint":["/pause"]}' "$folder/pause"
fi

if [ ! -x "$folder/helm" ] || [ "$(cat "$folder/helm.version" 2>/dev/null)" != "$helm" ]; then
  echo "building helm $helm into $folder/helm"
  mkdir -p "$folder/helm.new"
  CGO_ENABLED=0 GOBIN=$folder/helm.new go install -trimpath -ldflags '-s -w' "helm.sh/helm/v3/cmd/helm@$helm"
  mv "$folder/helm.new/helm" "$folder/helm"
  rmdir "$folder/helm.new"
  echo "$helm" >"$folder/helm.version"
fi
echo "the bed is in $folder"
