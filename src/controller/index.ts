export { kubeAccess } from './api/access.ts';
export { KubeApi } from './api/api.ts';
export { startControlPlane, type ControlPlaneSettings } from './controlPlane.ts';
