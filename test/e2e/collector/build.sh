#!/usr/bin/env bash
# Builds the OpenTelemetry Collector of the tests from its Go modules.
#
#   build.sh [FOLDER]
#
# FOLDER is $PORTCULLIS_COLLECTOR or ~/.cache/portcullis/collector unless given; it lies outside the checkout, so that the
# program outlives one. A program of the right version stays.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
folder=${1:-${PORTCULLIS_COLLECTOR:-${XDG_CACHE_HOME:-$HOME/.cache}/portcullis/collector}}

command -v go >/dev/null || { echo "build.sh: the Go toolchain is needed (go.dev/dl)" >&2; exit 1; }
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)

# One builder at a time; the others wait for it and find everything done.
exec 9>"$folder/.building"
flock 9

# What the program was built from, so that a change of version or source builds it anew.
sources=$(cat "$here"/{main.go,go.mod,go.sum} | sha256sum | cut -d' ' -f1)
if [ ! -x "$folder/collector" ] || [ "$(cat "$folder/collector.sources" 2>/dev/null)" != "$sources" ]; then
  echo "building the collector into $folder/collector"
  (cd "$here" && CGO_ENABLED=0 go build -buildvcs=false -trimpath -ldflags '-s -w' -o "$folder/collector.new" .)
  # The tests start what is there: never a half-written file.
  mv "$folder/collector.new" "$folder/collector"
  echo "$sources" >"$folder/collector.sources"
fi
echo "the collector is in $folder"
