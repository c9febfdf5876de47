export { Audit } from './audit.ts';
export { inOrder } from './lastLines.ts';
export type { AuditedCaller, AuditedDetails, AuditedEnd, AuditedOperation } from './lines.ts';
export { LiveOperation, maxKept } from './liveOperation.ts';
export { operationOf, refusedRequest } from './operationGroups.ts';
export { verifyFiles, type Verification } from './verify.ts';
