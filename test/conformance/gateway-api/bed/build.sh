#!/usr/bin/env bash
# Adds the conformance suite of the Gateway API to the test bed, as a program, and the images that its apps run:
#
#   build.sh [FOLDER]
#
# FOLDER is $PORTCULLIS_TESTBED or ~/.cache/portcullis/testbed unless given. What is there and of the right version stays.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
folder=${1:-${PORTCULLIS_TESTBED:-${XDG_CACHE_HOME:-$HOME/.cache}/portcullis/testbed}}

command -v go >/dev/null || { echo "build.sh: the Go toolchain is needed (go.dev/dl)" >&2; exit 1; }
mkdir -p "$folder/img"
folder=$(cd "$folder" && pwd)

# One builder at a time; the others wait for it and find everything done.
exec 9>"$folder/.building"
flock 9

sources=$(cat "$here"/suite/{*.go,go.mod,go.sum} "$here"/dns/main.go | sha256sum | cut -d' ' -f1)
[ "$(cat "$folder/conformance.sources" 2>/dev/null)" = "$sources" ] && exit 0

export CGO_ENABLED=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/echo" "$work/dns"
cd "$here/suite"
echo "building the conformance suite into $folder/conformance.test"
go test -c -vet=off -trimpath -buildvcs=false -ldflags '-s -w' -o "$work/conformance.test" .
echo "making the images of its apps"
go build -buildvcs=false -trimpath -ldflags '-s -w' -o "$work/echo/echo" sigs.k8s.io/gateway-api/conformance/echo-basic
(cd "$here/dns" && go build -buildvcs=false -trimpath -ldflags '-s -w' -o "$work/dns/dns" .)
# By the names that its manifests call them.
manifests=$(go list -m -f '{{.Dir}}' sigs.k8s.io/gateway-api/conformance)
named() { grep -rhoE "$1:[^ \"]+" "$manifests/base" "$manifests/tests" | sort -u | tr '\n' ' '; }
pack() { # app names
  "$here/../../../../deploy/oci.sh" "$folder/img/$1.tar" "$2" "{\"Entrypoint\":[\"/${1%-basic}\"]}" "$work/${1%-basic}"
}
pack echo-basic "$(named registry.k8s.io/gateway-api/echo-basic)"
pack dns "$(named registry.k8s.io/coredns/coredns)"
mv "$work/conformance.test" "$folder/conformance.test"
echo "$sources" >"$folder/conformance.sources"
