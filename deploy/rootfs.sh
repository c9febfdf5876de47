#!/usr/bin/env bash
# Lays out a part of the root file system of an image:
#
#   rootfs.sh runtime FOLDER [NODE]   the Node program with the libraries it needs, and nothing else: no shell, no packages
#   rootfs.sh gateway FOLDER [NODE]   the gateway, bundled with the packages that it runs on
#   rootfs.sh echo FOLDER             the sample app
#   rootfs.sh mcp FOLDER [NODE]       on top of the gateway: an MCP server and an authorization server to try it with
#
# Needs the packages of the checkout (`npm ci`). Dockerfile and image.sh both build of these parts.
set -euo pipefail

repo=$(cd "$(dirname "$0")/.." && pwd)
part=${1:-} folder=${2:-}
[ -n "$folder" ] || { sed -n '2,9s/^# \{0,1\}//p' "$0" >&2; exit 2; }
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
cd "$repo"

# Copies the packages that a workspace runs on.
packages() {
  npm ls --omit=dev --all --parseable --long "$@" 2>/dev/null | grep -v ':EXTRANEOUS$' |
    sed -nE "s#^$repo/node_modules/([^:]+):.*#\1#p" | sort -u |
    { grep -vE '(^|/)(@types|@portcullis)/|(^|/)undici-types$' || true; } | copy
}

# Copies packages by their folders, without what only compilers and people read.
copy() {
  while read -r name; do
    mkdir -p "$folder/app/node_modules/$name"
    # Packages nested in this one come by themselves, where they are needed.
    tar -C "node_modules/$name" --exclude=./node_modules --exclude='*.ts' --exclude='*.mts' --exclude='*.cts' \
      --exclude='*.map' --exclude='*.md' --exclude=./test --exclude=./tests --exclude=./docs --exclude=./benchmarks \
      --exclude=./.github -cf - . | tar -C "$folder/app/node_modules/$name" -xf -
  done
}

# A workspace, as it is, with the packages it runs on.
app() {
  mkdir -p "$folder/app/apps"
  cp -R "apps/$1" "$folder/app/apps/$1"
  find "$folder/app/apps/$1" \( -name '*.test.ts' -o -name '*.testing.ts' \) -delete
  rm -rf "$folder/app/apps/$1/node_modules"
  packages --workspace="apps/$1"
}

case $part in
  runtime)
    node=${3:-node_modules/node/bin/node}
    install -D -m 755 "$node" "$folder/usr/bin/node"
    # Symbols for debuggers are a fifth of it.
    if command -v strip >/dev/null; then strip --strip-unneeded "$folder/usr/bin/node"; fi
    # The loader and every library, where the program looks for them.
    ldd "$node" | sed -nE 's#^.*(=> |\t)(/[^ ]+) \(0x.*#\2#p' | while read -r library; do
      install -D -m 755 "$library" "$folder$library"
    done
    mkdir -p "$folder/etc" "$folder/tmp"
    chmod 1777 "$folder/tmp"
    printf 'root:x:0:0:root:/:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/:/sbin/nologin\n' >"$folder/etc/passwd"
    printf 'root:x:0:\nnonroot:x:65532:\n' >"$folder/etc/group"
    printf 'hosts: files dns\n' >"$folder/etc/nsswitch.conf"
    ;;
  gateway)
    mkdir -p "$folder/app"
    cp -R bin schema package.json LICENSE "$folder/app/"
    "${3:-node_modules/node/bin/node}" scripts/bundle.ts "$folder/app" --without-idp
    node_modules/.bin/vite build ui --logLevel warn --outDir "$folder/app/ui/dist"
    ;;
  echo)
    app echo
    ;;
  mcp)
    app dev-idp
    "${3:-node_modules/node/bin/node}" scripts/packageClosure.ts @modelcontextprotocol/server-everything | copy
    # What it has to say is written there.
    server=node_modules/@modelcontextprotocol/server-everything/dist
    cp -R "$server/docs" "$folder/app/$server/"
    ;;
  *) echo "rootfs.sh: no part $part" >&2; exit 2 ;;
esac
