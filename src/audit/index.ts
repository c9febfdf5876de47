export { Audit, type OpenOperation } from './audit.ts';
export { inOrder } from './lastLines.ts';
export type { AuditedCaller, AuditedEnd, AuditedOperation } from './lines.ts';
export { refusedRequest } from './operationGroups.ts';
export { verifyFiles, type Verification } from './verify.ts';
