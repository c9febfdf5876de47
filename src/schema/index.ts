export {
  backendTls,
  buildTls,
  certificate,
  keyExchangeGroups,
  keyFile,
  rawBackendTls,
  serverName,
  together,
} from './backendTls.ts';
export { byName, crdRules } from './crdRules.ts';
export { isDuration, markDuration } from './durationMark.ts';
export { bareAddress, endpointOf, isOnLoopback } from './endpoint.ts';
export { choice, fields, oneOf, parsed } from './fields.ts';
export { literalPaths, literalText } from './literalText.ts';
export { eachNamedFile, fileMarkOf, namesFile, type FileMark } from './namedFile.ts';
export { podResources } from './podResources.ts';
export {
  backendName,
  bindAddress,
  duration,
  headerName,
  hostAndPort,
  hostname,
  listenAddress,
  listenPort,
  method,
  nameOfBackend,
  network,
  objectName,
  parseListenAddress,
  plainHostAndPort,
  positiveDuration,
  positiveSize,
  regex,
  requestTarget,
  size,
  type HostAndPort,
} from './scalars.ts';
export {
  eachMark,
  eachSecretField,
  maskedNames,
  mayHoldSecret,
  mayHoldShownSecret,
  secret,
} from './secret.ts';
export { eachPart, eachUnsetField, layersOf } from './walk.ts';
