#!/usr/bin/env bash
# Makes an image without a registry and without a container engine, as an OCI archive that containerd
# (`ctr -n k8s.io images import`), podman, skopeo and Docker take:
#
#   image.sh [--echo] OUT.tar [NAME:TAG]
#
# Of the npm package `node` and the checkout, for the machine it runs on. With --echo, the sample app. Needs the packages
# of the checkout (`npm ci`), tar and gzip.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
app=gateway
if [ "${1:-}" = --echo ]; then app=echo; shift; fi
[ $# -ge 1 ] || { sed -n '2,9s/^# \{0,1\}//p' "$0" >&2; exit 2; }
out=$1
version=$(sed -n 's/^  "version": "\(.*\)",$/\1/p' "$here/../package.json")
case $app in
  gateway) name=${2:-portcullis:$version} entry='"/usr/bin/node","/app/bin/portcullis"' command='[]' ;;
  echo) name=${2:-portcullis-echo:$version} entry='"/usr/bin/node","/app/apps/echo/src/index.ts"' command='["--host","::"]' ;;
esac
case $(uname -m) in
  x86_64) machine=amd64 ;;
  aarch64) machine=arm64 ;;
  *) echo "image.sh: no images for $(uname -m)" >&2; exit 1 ;;
esac
# As engines write it in full: a name without a registry is of the one that they look in by default.
case ${name%%/*} in
  "$name") full=docker.io/library/$name ;;
  *.* | *:* | localhost) full=$name ;;
  *) full=docker.io/$name ;;
esac

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
blobs=$work/oci/blobs/sha256
mkdir -p "$blobs"

digest() { sha256sum <"$1" | cut -d' ' -f1; }
size() { stat -c %s "$1"; }
keep() { mv "$1" "$blobs/$(digest "$1")"; }

# Two layers, since one of them stays the same from release to release.
layers='' contents=''
for part in runtime "$app"; do
  "$here/rootfs.sh" "$part" "$work/$part"
  # The same files make the same bytes, whoever packs them and whenever.
  tar -C "$work/$part" --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -cf "$work/layer.tar" .
  contents+="${contents:+,}\"sha256:$(digest "$work/layer.tar")\""
  gzip -n -6 "$work/layer.tar"
  layer=$work/layer.tar.gz
  layers+="${layers:+,}{\"mediaType\":\"application/vnd.oci.image.layer.v1.tar+gzip\",\"digest\":\"sha256:$(digest "$layer")\",\"size\":$(size "$layer")}"
  keep "$layer"
done

cat >"$work/config" <<J
{"architecture":"$machine","os":"linux",
 "config":{"User":"65532:65532","Entrypoint":[$entry],"Cmd":$command,"WorkingDir":"/",
  "Env":["PATH=/usr/bin","NODE_ENV=production"],
  "Labels":{"org.opencontainers.image.title":"${name%%:*}","org.opencontainers.image.version":"$version","org.opencontainers.image.licenses":"Apache-2.0"}},
 "rootfs":{"type":"layers","diff_ids":[$contents]}}
J
cat >"$work/manifest" <<J
{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json",
 "config":{"mediaType":"application/vnd.oci.image.config.v1+json","digest":"sha256:$(digest "$work/config")","size":$(size "$work/config")},
 "layers":[$layers]}
J
cat >"$work/oci/index.json" <<J
{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","manifests":[
 {"mediaType":"application/vnd.oci.image.manifest.v1+json","digest":"sha256:$(digest "$work/manifest")","size":$(size "$work/manifest"),
  "platform":{"architecture":"$machine","os":"linux"},
  "annotations":{"io.containerd.image.name":"$full","org.opencontainers.image.ref.name":"${name##*:}"}}]}
J
keep "$work/config"
keep "$work/manifest"
printf '{"imageLayoutVersion":"1.0.0"}' >"$work/oci/oci-layout"
tar -C "$work/oci" --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -cf "$out" oci-layout index.json blobs
echo "$full: $(($(size "$out") / 1000000)) MB, unpacked $(($(du -sb --total "$work/runtime" "$work/$app" | tail -1 | cut -f1) / 1000000)) MB"
