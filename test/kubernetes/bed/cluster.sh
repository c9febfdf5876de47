#!/usr/bin/env bash
# A Kubernetes of one node, pods and all, in namespaces of its own:
#
#   cluster.sh up FOLDER [IMAGE.tar…]    starts it, with these images; resolves when the node is ready
#   cluster.sh in FOLDER COMMAND…        runs a command inside, with kubectl and KUBECONFIG
#   cluster.sh down FOLDER               ends everything in it
#
# Network, mounts and processes are private: nothing inside can reach the machine's network or leave a mount behind, and
# when the one process in FOLDER/pid ends, the kernel ends the rest. Several may run side by side. Needs root, the bed
# (build.sh), and containerd, runc, the CNI plugins, iptables, conntrack and openssl of the system.
#
# Addresses are of 198.18.0.0/15, which is kept for tests (RFC 2544): pods .18.0.0/17, Services .18.128.0/17, the node
# 198.19.0.1, and for load balancers 198.19.0.10 to 198.19.0.60.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
bed=${PORTCULLIS_TESTBED:-${XDG_CACHE_HOME:-$HOME/.cache}/portcullis/testbed}
usage() { sed -n '2,8s/^# \{0,1\}//p' "$0" >&2; exit 2; }
[ $# -ge 2 ] || usage
command=$1
folder=$(mkdir -p "$2" && cd "$2" && pwd)
shift 2

running() { [ -e "$folder/pid" ] && kill -0 "$(cat "$folder/pid")" 2>/dev/null; }

down() {
  # The first process of a process namespace takes all others with it.
  if running; then
    local pid
    pid=$(cat "$folder/pid")
    kill -KILL "$pid" 2>/dev/null || true
    while kill -0 "$pid" 2>/dev/null; do sleep 0.05; done
  fi
  local group
  for group in /sys/fs/cgroup/{,*/}portcullis-"$(cat "$folder/id" 2>/dev/null || echo none)"; do
    if [ -d "$group" ]; then find "$group" -depth -type d -exec rmdir {} + 2>/dev/null || true; fi
  done
  rm -rf "$folder/pid" "$folder/id" "$folder/state"
}

case $command in
  up)
    running && { echo "cluster.sh: $folder has a cluster already" >&2; exit 1; }
    for program in containerd runc iptables conntrack openssl; do
      command -v "$program" >/dev/null || { echo "cluster.sh: $program is needed" >&2; exit 1; }
    done
    for file in "$bed/kube" "$bed/pause.tar"; do
      [ -e "$file" ] || { echo "cluster.sh: there is no $file; build.sh makes it" >&2; exit 1; }
    done
    down
    mkdir -p "$folder/state" "$folder/log" "$folder/bin"
    # The binary runs as the program it is called by.
    for name in etcd kube-apiserver kube-controller-manager kube-scheduler kubelet kube-proxy kubectl; do
      ln -sf "$bed/kube" "$folder/bin/$name"
    done
    od -An -N6 -tx1 /dev/urandom | tr -d ' \n' >"$folder/id"
    setsid unshare --net --mount --propagation private --pid --fork --kill-child --mount-proc \
      "$here/node.sh" "$folder" "$bed/pause.tar" "$@" >"$folder/log/node.log" 2>&1 </dev/null &
    outer=$!
    until [ -s "$folder/pid" ]; do
      kill -0 "$outer" 2>/dev/null || { cat "$folder/log/node.log" >&2; exit 1; }
      sleep 0.05
      tr -d ' ' </proc/$outer/task/$outer/children >"$folder/pid" 2>/dev/null || true
    done
    for _ in $(seq 240); do
      [ -e "$folder/state/ready" ] && exit 0
      running || { tail -20 "$folder/log/node.log" >&2; down; exit 1; }
      sleep 0.5
    done
    echo "cluster.sh: not ready in two minutes; see $folder/log" >&2
    exit 1
    ;;
  in)
    [ $# -ge 1 ] || usage
    running || { echo "cluster.sh: $folder has no cluster" >&2; exit 1; }
    export KUBECONFIG=$folder/state/admin.kubeconfig PATH=$folder/bin:$PATH
    exec nsenter -t "$(cat "$folder/pid")" -n -m -p --wd="$PWD" -- "$@"
    ;;
  down) down ;;
  *) usage ;;
esac
