#!/usr/bin/env bash
# The first process of a cluster's namespaces, started by cluster.sh and by nothing else: node.sh FOLDER IMAGE.tar…
set -euo pipefail

folder=$1
shift
state=$folder/state log=$folder/log bin=$folder/bin
id=$(cat "$folder/id")
node=198.19.0.1 pods=198.18.0.0/17 services=198.18.128.0/17 server=198.18.128.1

# --- Network: a bridge without a way out holds the addresses of the node and of load balancers.
ip link set lo up
ip link add node0 type bridge
ip addr add $node/24 dev node0
ip link set node0 up
# So that the rules of kube-proxy get to see packets for Services.
ip route add $services dev node0
sysctl -qw net.ipv4.ip_forward=1 net.ipv4.conf.all.route_localnet=1 || true
for last in $(seq 10 60); do ip addr add 198.19.0.$last/32 dev node0; done

# --- The kubelet insists on settings of the whole machine. It is shown what it wants to see, and changes nothing.
show() {
  echo "$2" >"$state/sysctl.${1//\//.}"
  mount --bind "$state/sysctl.${1//\//.}" "/proc/sys/$1"
}
show vm/overcommit_memory 1
show vm/panic_on_oom 0
show kernel/panic 10
show kernel/panic_on_oops 1
show kernel/keys/root_maxkeys 1000000
show kernel/keys/root_maxbytes 25000000

# --- Keys and certificates.
cd "$state"
umask 077
openssl ecparam -name prime256v1 -genkey -noout -out ca.key
openssl req -x509 -new -key ca.key -subj /CN=test-cluster -days 30 -out ca.crt \
  -addext basicConstraints=critical,CA:TRUE -addext keyUsage=critical,keyCertSign,cRLSign
certificate() { # name subject [names]
  openssl ecparam -name prime256v1 -genkey -noout -out "$1.key"
  openssl req -new -key "$1.key" -subj "$2" |
    openssl x509 -req -CA ca.crt -CAkey ca.key -CAcreateserial -days 30 -out "$1.crt" \
      -extfile <(printf 'extendedKeyUsage=serverAuth,clientAuth\n%s' "${3:+subjectAltName=$3}") 2>/dev/null
}
certificate apiserver /CN=kube-apiserver \
  "IP:127.0.0.1,IP:$node,IP:$server,DNS:localhost,DNS:kubernetes,DNS:kubernetes.default,DNS:kubernetes.default.svc"
certificate kubelet /O=system:nodes/CN=system:node:node1 "IP:$node,DNS:node1"
certificate admin /O=system:masters/CN=admin
certificate manager /CN=system:kube-controller-manager
certificate scheduler /CN=system:kube-scheduler
certificate proxy /CN=system:kube-proxy
openssl genrsa -out accounts.key 2048 2>/dev/null
openssl rsa -in accounts.key -pubout -out accounts.pub 2>/dev/null
for user in admin kubelet manager scheduler proxy; do
  cat >"$user.kubeconfig" <<Y
apiVersion: v1
kind: Config
clusters: [{name: test, cluster: {server: "https://$node:6443", certificate-authority-data: $(base64 -w0 ca.crt)}}]
users: [{name: user, user: {client-certificate-data: $(base64 -w0 $user.crt), client-key-data: $(base64 -w0 $user.key)}}]
contexts: [{name: test, context: {cluster: test, user: user}}]
current-context: test
Y
done
export KUBECONFIG=$state/admin.kubeconfig
# What containers run is made below, and not for root alone.
umask 022

# --- The control plane.
start() { # name arguments…
  "$bin/$1" "${@:2}" >"$log/$1.log" 2>&1 &
}
start etcd --name=only --data-dir="$state/etcd" --unsafe-no-fsync --log-level=warn \
  --listen-client-urls=http://127.0.0.1:2379 --advertise-client-urls=http://127.0.0.1:2379 \
  --listen-peer-urls=http://127.0.0.1:2380 --initial-advertise-peer-urls=http://127.0.0.1:2380 \
  --initial-cluster=only=http://127.0.0.1:2380
start kube-apiserver --etcd-servers=http://127.0.0.1:2379 --advertise-address=$node --secure-port=6443 \
  --service-cluster-ip-range=$services --authorization-mode=Node,RBAC --profiling=false \
  --tls-cert-file=apiserver.crt --tls-private-key-file=apiserver.key --client-ca-file=ca.crt \
  --service-account-issuer=https://kubernetes.default.svc --service-account-key-file=accounts.pub \
  --service-account-signing-key-file=accounts.key --kubelet-preferred-address-types=InternalIP \
  --kubelet-client-certificate=admin.crt --kubelet-client-key=admin.key --kubelet-certificate-authority=ca.crt \
  --cert-dir="$state/server"
until "$bin/kubectl" get --raw /readyz >/dev/null 2>&1; do sleep 0.2; done
start kube-controller-manager --kubeconfig=manager.kubeconfig --authentication-kubeconfig=manager.kubeconfig \
  --authorization-kubeconfig=manager.kubeconfig --use-service-account-credentials --leader-elect=false \
  --service-account-private-key-file=accounts.key --root-ca-file=ca.crt --profiling=false \
  --cert-dir="$state/manager"
start kube-scheduler --kubeconfig=scheduler.kubeconfig --authentication-kubeconfig=scheduler.kubeconfig \
  --authorization-kubeconfig=scheduler.kubeconfig --leader-elect=false --profiling=false \
  --cert-dir="$state/scheduler"

# --- The node.
mkdir -p cni pods /run/containerd /var/log/pods /var/log/containers
# The sockets of the shims, and the logs of the pods, are not the machine's either.
mount -t tmpfs tmpfs /run/containerd
mount -t tmpfs tmpfs /var/log
mkdir -p /var/log/pods /var/log/containers
cat >cni/10-bridge.conflist <<Y
{"cniVersion": "1.0.0", "name": "pods", "plugins": [
  {"type": "bridge", "bridge": "cni0", "isGateway": true, "hairpinMode": true,
   "ipam": {"type": "host-local", "dataDir": "$state/cni-addresses",
    "ranges": [[{"subnet": "$pods"}]], "routes": [{"dst": "0.0.0.0/0"}]}},
  {"type": "portmap", "capabilities": {"portMappings": true}}]}
Y
cat >containerd.toml <<Y
version = 2
root = "$state/containerd"
state = "/run/containerd/state"
[grpc]
  address = "/run/containerd/containerd.sock"
[plugins."io.containerd.internal.v1.opt"]
  path = "$state/containerd/opt"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "registry.test/pause:1"
  netns_mounts_under_state_dir = true
  disable_apparmor = true
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "$state/cni"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      SystemdCgroup = false
Y
containerd --config containerd.toml >"$log/containerd.log" 2>&1 &
until ctr --address /run/containerd/containerd.sock version >/dev/null 2>&1; do sleep 0.1; done
for image in "$@"; do ctr --address /run/containerd/containerd.sock -n k8s.io images import "$image"; done
cat >kubelet.yaml <<Y
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
containerRuntimeEndpoint: unix:///run/containerd/containerd.sock
address: $node
healthzBindAddress: 127.0.0.1
tlsCertFile: $state/kubelet.crt
tlsPrivateKeyFile: $state/kubelet.key
authentication: {anonymous: {enabled: false}, webhook: {enabled: true}, x509: {clientCAFile: $state/ca.crt}}
authorization: {mode: Webhook}
cgroupDriver: cgroupfs
cgroupRoot: /portcullis-$id
enforceNodeAllocatable: []
failSwapOn: false
failCgroupV1: false
localStorageCapacityIsolation: false
imageGCHighThresholdPercent: 100
evictionHard: {memory.available: 50Mi, nodefs.available: 1%, imagefs.available: 1%, nodefs.inodesFree: 1%}
maxPods: 250
syncFrequency: 5s
nodeStatusUpdateFrequency: 5s
serializeImagePulls: false
eventRecordQPS: 0
resolvConf: ""
clusterDNS: [$node]
clusterDomain: cluster.local
makeIPTablesUtilChains: false
volumePluginDir: $state/plugins
Y
for group in /sys/fs/cgroup/*/; do
  case $group in *unified*) ;; *) mkdir -p "$group/portcullis-$id" ;; esac
done
# Of version 1: a new group begins without processors and memory.
if [ -d /sys/fs/cgroup/cpuset ]; then
  for what in cpus mems; do
    cat "/sys/fs/cgroup/cpuset/cpuset.$what" >"/sys/fs/cgroup/cpuset/portcullis-$id/cpuset.$what" || true
  done
fi
start kubelet --config=kubelet.yaml --kubeconfig=kubelet.kubeconfig --hostname-override=node1 --node-ip=$node \
  --root-dir="$state/kubelet" --cert-dir="$state/kubelet-pki"
cat >proxy.yaml <<Y
apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: iptables
clientConnection: {kubeconfig: $state/proxy.kubeconfig}
hostnameOverride: node1
clusterCIDR: $pods
conntrack: {maxPerCore: 0, min: 0, tcpEstablishedTimeout: 0s, tcpCloseWaitTimeout: 0s}
Y
start kube-proxy --config=proxy.yaml

ready='{.status.conditions[?(@.type=="Ready")].status}'
until "$bin/kubectl" get node node1 -o "jsonpath=$ready" 2>/dev/null | grep -q True; do sleep 0.2; done
until "$bin/kubectl" get serviceaccount default >/dev/null 2>&1; do sleep 0.2; done
touch ready
# Whatever loses its parent in this namespace becomes ours.
trap 'exit 0' TERM
while :; do wait -n 2>/dev/null || sleep 1; done
