export type * from './contract.ts';
export { accessSink, createAccessLog, type AccessLogOptions } from './accessLog.ts';
export { createLogger, type LoggerOptions } from './logger.ts';
export { createMetrics } from './metrics.ts';
export { addUp, countsOf, exposeSum } from './metricsSum.ts';
export { isSecretName, redacted, redactText } from './redact.ts';
export { relayLines } from './relay.ts';
export { makeNonBlockingAgain } from './nonBlocking.ts';
export { Sink, type Destination } from './sink.ts';
