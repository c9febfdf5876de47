#!/usr/bin/env bash
# Makes an image without a registry and without a container engine, as an OCI archive that containerd
# (`ctr -n k8s.io images import`), podman, skopeo and Docker take:
#
#   image.sh [--echo | --mcp] OUT.tar [NAME:TAG]
#
# Of the npm package `node` and the checkout, for the machine it runs on. With --echo, the sample app; with --mcp, the
# gateway together with an MCP server and an authorization server to try it with. Needs the packages of the checkout
# (`npm ci`), tar and gzip.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
app=gateway
case ${1:-} in --echo | --mcp) app=${1#--}; shift ;; esac
[ $# -ge 1 ] || { sed -n '2,10s/^# \{0,1\}//p' "$0" >&2; exit 2; }
out=$1
version=$(sed -n 's/^  "version": "\(.*\)",$/\1/p' "$here/../package.json")
gateway='"/usr/bin/node","--","/app/bin/portcullis"'
parts=("$app")
case $app in
  gateway) name=${2:-portcullis:$version} entry=$gateway command='[]' ;;
  mcp) name=${2:-portcullis-mcp:$version} entry=$gateway command='[]' parts=(gateway mcp) ;;
  echo) name=${2:-portcullis-echo:$version} entry='"/usr/bin/node","/app/apps/echo/src/index.ts"' command='["--host","::"]' ;;
esac

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Several layers, since the first stays the same from release to release.
folders=()
for part in runtime "${parts[@]}"; do
  "$here/rootfs.sh" "$part" "$work/$part"
  folders+=("$work/$part")
done
last=${folders[-1]}
"$here/../node_modules/node/bin/node" "$here/../scripts/sbom.ts" "${folders[@]}" >"$work/sbom.cdx.json"
mv "$work/sbom.cdx.json" "$last/app/sbom.cdx.json"
"$here/oci.sh" "$out" "$name" "{\"User\":\"65532:65532\",\"Entrypoint\":[$entry],\"Cmd\":$command,\"WorkingDir\":\"/\",
  \"Env\":[\"PATH=/usr/bin\",\"NODE_ENV=production\"],
  \"Labels\":{\"org.opencontainers.image.version\":\"$version\",\"org.opencontainers.image.licenses\":\"Apache-2.0\"}}" \
  "${folders[@]}"
unpacked=$(du -sb --total "${folders[@]}" | tail -1 | cut -f1)
echo "$name: $(($(stat -c %s "$out") / 1000000)) MB, unpacked $((unpacked / 1000000)) MB"
