import type { Logger } from '../telemetry/index.ts';

/** For a command that reports problems itself. */
export const silentLog: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  child: () => silentLog,
};
