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

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Two layers, since one of them stays the same from release to release.
"$here/rootfs.sh" runtime "$work/runtime"
"$here/rootfs.sh" "$app" "$work/$app"
"$here/oci.sh" "$out" "$name" "{\"User\":\"65532:65532\",\"Entrypoint\":[$entry],\"Cmd\":$command,\"WorkingDir\":\"/\",
  \"Env\":[\"PATH=/usr/bin\",\"NODE_ENV=production\"],
  \"Labels\":{\"org.opencontainers.image.version\":\"$version\",\"org.opencontainers.image.licenses\":\"Apache-2.0\"}}" \
  "$work/runtime" "$work/$app"
unpacked=$(du -sb --total "$work/runtime" "$work/$app" | tail -1 | cut -f1)
echo "$name: $(($(stat -c %s "$out") / 1000000)) MB, unpacked $((unpacked / 1000000)) MB"
