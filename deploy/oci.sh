#!/usr/bin/env bash
# Packs folders as the layers of an image, into an OCI archive:
#
#   oci.sh OUT.tar NAME:TAG CONFIG FOLDER…
#
# CONFIG is the JSON of what containers of it run: User, Entrypoint, Env. Several names, divided by spaces, are names of
# the same image.
set -euo pipefail

[ $# -ge 4 ] || { sed -n '2,7s/^# \{0,1\}//p' "$0" >&2; exit 2; }
out=$1 names=$2 config=$3
shift 3
case $(uname -m) in
  x86_64) machine=amd64 ;;
  aarch64) machine=arm64 ;;
  *) echo "oci.sh: no images for $(uname -m)" >&2; exit 1 ;;
esac

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
blobs=$work/oci/blobs/sha256
mkdir -p "$blobs"

digest() { sha256sum <"$1" | cut -d' ' -f1; }
# The same files make the same bytes, whoever packs them and whenever.
pack() { tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -cf "$@"; }
# Moves a file among the blobs, and says how it is named there.
keep() {
  printf '{"mediaType":"application/vnd.oci.image.%s","digest":"sha256:%s","size":%s' "$2" "$(digest "$1")" "$(stat -c %s "$1")"
  mv "$1" "$blobs/$(digest "$1")"
}
# As engines write a name in full: one without a registry is of the one that they look in by default.
full() {
  case ${1%%/*} in
    "$1") echo "docker.io/library/$1" ;;
    *.* | *:* | localhost) echo "$1" ;;
    *) echo "docker.io/$1" ;;
  esac
}

layers='' contents=''
for folder in "$@"; do
  pack "$work/layer.tar" -C "$folder" .
  contents+="${contents:+,}\"sha256:$(digest "$work/layer.tar")\""
  gzip -n -6 "$work/layer.tar"
  layers+="${layers:+,}$(keep "$work/layer.tar.gz" layer.v1.tar+gzip)}"
done
printf '{"architecture":"%s","os":"linux","config":%s,"rootfs":{"type":"layers","diff_ids":[%s]}}' \
  "$machine" "$config" "$contents" >"$work/config"
printf '{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","config":%s},"layers":[%s]}' \
  "$(keep "$work/config" config.v1+json)" "$layers" >"$work/manifest"
manifest=$(keep "$work/manifest" manifest.v1+json)
entries=''
for name in $names; do
  entries+="${entries:+,}$manifest,\"platform\":{\"architecture\":\"$machine\",\"os\":\"linux\"},\"annotations\":{"
  entries+="\"io.containerd.image.name\":\"$(full "$name")\",\"org.opencontainers.image.ref.name\":\"${name##*:}\"}}"
done
printf '{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","manifests":[%s]}' "$entries" \
  >"$work/oci/index.json"
printf '{"imageLayoutVersion":"1.0.0"}' >"$work/oci/oci-layout"
pack "$out" -C "$work/oci" oci-layout index.json blobs
