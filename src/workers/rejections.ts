import type { Logger } from '../telemetry/index.ts';

/**
 * Logs rejections that no code waits for, where Node would end the process: a defect in one request must not end the
 * sessions of all callers.
 * @returns ends it
 */
export function surviveRejections(log: Logger): () => void {
  const listener = (reason: unknown): void =>
    log.error('Promise rejected, and nobody waited for it: please report this defect', {
      error: reason instanceof Error ? (reason.stack ?? reason.message) : String(reason),
    });
  process.on('unhandledRejection', listener);
  return () => void process.off('unhandledRejection', listener);
}
