import type { Fields, Logger } from '../telemetry/index.ts';

export interface Line {
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly message: string;
  readonly fields: Fields;
}

/** A log that keeps its lines. */
export function memoryLog(): { readonly log: Logger; readonly lines: Line[] } {
  const lines: Line[] = [];
  const logger = (bound: Fields): Logger => {
    const at =
      (level: Line['level']) =>
      (message: string, fields: Fields = {}): void => {
        lines.push({ level, message, fields: { ...bound, ...fields } });
      };
    return {
      debug: at('debug'),
      info: at('info'),
      warn: at('warn'),
      error: at('error'),
      child: (fields) => logger({ ...bound, ...fields }),
    };
  };
  return { log: logger({}), lines };
}
