import type { LogLevel } from './model.ts';

/** Every level of the log, the most talkative first. */
export const logLevels = ['debug', 'info', 'warn', 'error'] as const satisfies readonly LogLevel[];
