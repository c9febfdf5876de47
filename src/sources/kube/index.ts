export { KubeApi } from './api/api.ts';
export { kubeAccess, type Access, type AccessOptions } from './api/access.ts';
export { Controller, defaultControllerName, type ControllerOptions } from './controller.ts';
export { tokenAudience } from './provision/deployment.ts';
export { proxyName } from './provision/names.ts';
export type { Installation } from './provision/request.ts';
export type { Translation } from './translate/index.ts';
