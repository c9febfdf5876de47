/** Requests of the gateway itself to one target of several. */

import type { GatewayError } from '../../errors.ts';
import type { HeaderLine } from '../../http/index.ts';
import type { Envelope } from '../json/envelope.ts';
import { ownMessage } from '../json/ownMessage.ts';
import type { CallLimit } from '../limits/callTimeouts.ts';
import type { TargetConnection } from '../targets/kind/target.ts';

/**
 * Sends a request to a target.
 * @param params JSON text of an object
 * @param headers lines for a server over HTTP
 * @returns the response, which may be a JSON-RPC error; the promise rejects with a GatewayError where there is none
 */
export async function ask(
  target: TargetConnection,
  method: string,
  params: string | undefined,
  limit: CallLimit,
  headers: readonly HeaderLine[] = [],
): Promise<Envelope> {
  const { promise, resolve, reject } = Promise.withResolvers<Envelope>();
  target.call(
    { envelope: ownMessage(method, params), token: undefined, edits: [], limit, headers },
    { answered: resolve, failed: (error: GatewayError) => reject(error) },
  );
  return await promise;
}
