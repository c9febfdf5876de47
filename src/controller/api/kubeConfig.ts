/** A file of its own, so that a bundle has the code of kubeconfigs without that of every kind of object. */
export { KubeConfig } from '@kubernetes/client-node';
