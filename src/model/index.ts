export { auditEntries, auditFolder, leastAuditKeyBytes } from './auditPod.ts';
export type * from './model.ts';
export type * from './describedApi.ts';
export { accessFieldNames } from './accessFields.ts';
export { isOfTls13 } from './cipherSuites.ts';
export { withConsoleDoor } from './consoleRoutes.ts';
export { defaults } from './defaults.ts';
export { environmentVariable, secretVariables } from './environment.ts';
export { joinEndpoints, type AddressLists } from './endpoints.ts';
export { formatDuration, maxDurationMs, parseDuration } from './duration.ts';
export { isExposed } from './listenAddress.ts';
export { logLevels } from './logLevels.ts';
export { standardMethods } from './methods.ts';
export { compileEntries, entryOf, isLiteral, shadows, type CompiledEntry } from './viewEntries.ts';
export { portionsOf, withoutRoutes, withRoutes, type ModelFrame } from './portions.ts';
export {
  compareHostnames,
  hostnameMatches,
  reachableHostnames,
  sortedRules,
  type Rule,
} from './precedence.ts';
