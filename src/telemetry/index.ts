export type * from './contract.ts';
export { createAccessLog, type AccessLogOptions } from './accessLog.ts';
export { createLogger, type LoggerOptions } from './logger.ts';
export { createMetrics } from './metrics.ts';
export { isSecretName, redacted, redactText } from './redact.ts';
export type { Destination } from './sink.ts';
