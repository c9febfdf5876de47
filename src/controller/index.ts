export { KubeApi } from './api/api.ts';
export { kubeAccess, type Access, type AccessOptions } from './api/access.ts';
export { Controller, defaultControllerName, type ControllerOptions } from './controller.ts';
export type { Installation } from './provision/request.ts';
export { ModelServer, type ModelServerOptions } from './serve/modelServer.ts';
export { ServiceAddress } from './serve/serviceAddress.ts';
export type { Translation } from './translate/index.ts';
