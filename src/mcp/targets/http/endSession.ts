import type { Logger } from '../../../telemetry/index.ts';
import type { Reach } from '../../contract.ts';
import { ServerExchange } from '../conversation/serverExchange.ts';
import { requestHead } from '../conversation/serverRequestHead.ts';
import type { PinnedSession } from '../conversation/pinnedSession.ts';

/** The least and the most time for a server to take note of the end, in milliseconds. */
const leastMs = 500;
const mostMs = 3_000;

/** The share for a server of the time that a session gets to end, in milliseconds. */
export const endMs = (graceMs: number): number => Math.min(mostMs, Math.max(leastMs, graceMs));

/** Tells a server that its session is over. Resolves (never rejects) when it knows, or when the time is up. */
export function endSession(
  reach: Reach,
  session: PinnedSession,
  graceMs: number,
  log: Logger,
): Promise<void> {
  if (session.id === undefined) return Promise.resolve();
  return new Promise((resolve) => {
    const exchange = new ServerExchange(
      {
        destination: reach.destination,
        session,
        head: requestHead('DELETE', reach, session, []),
        repeatable: true,
        patient: true,
      },
      {
        // 405: the server ends sessions by itself.
        onHead: ({ status }) => {
          if (status >= 400 && status !== 404 && status !== 405)
            log.debug('Session could not be deleted at the target', { status });
        },
        onBytes: () => undefined,
        onEnd: () => done(),
        onFailure: (code, detail) => {
          log.debug('Session end could not be sent to the target', { code, detail });
          done();
        },
      },
    );
    const timer = setTimeout(() => {
      exchange.abandon();
      done();
    }, endMs(graceMs));
    const done = (): void => {
      clearTimeout(timer);
      resolve();
    };
    exchange.begin();
  });
}
