/** Requests of the gateway itself to one target of several. */

import type { GatewayError } from '../../errors.ts';
import type { Envelope } from '../json/envelope.ts';
import { ownMessage } from '../json/ownMessage.ts';
import { parsed, parsedLength } from '../json/parsed.ts';
import type { CallLimit } from '../limits/callTimeouts.ts';
import type { Outgoing } from '../messages/outgoing.ts';
import { targetError } from '../messages/rpcError.ts';
import type { TargetConnection, Waiter } from '../targets/kind/target.ts';

/** The way of the caller that a request is for, and lines for a server over HTTP; empty: the way of the newest caller. */
export interface AskedFor extends Pick<Outgoing, 'reach' | 'environment' | 'headers'> {
  /** The call of a client that alone needs the answer. */
  readonly call?: Pick<Waiter, 'abandoned'>;
}

/**
 * Sends a request to a target.
 * @param params JSON text of an object
 * @returns the response, which may be a JSON-RPC error; the promise rejects with a GatewayError where there is none
 */
export async function ask(
  target: TargetConnection,
  method: string,
  params: string | undefined,
  limit: CallLimit,
  { call, ...way }: AskedFor = {},
): Promise<Envelope> {
  const { promise, resolve, reject } = Promise.withResolvers<Envelope>();
  target.call(
    { envelope: ownMessage(method, params), token: undefined, edits: [], limit, ...way },
    {
      answered: (response) => {
        if (isJson(response)) resolve(response);
        else reject(targetError('mcp_target_failed', target.name, 'answered with broken JSON'));
      },
      failed: (error: GatewayError) => reject(error),
      get abandoned() {
        return call?.abandoned === true;
      },
    },
  );
  return await promise;
}

/** Parts of it stand beside those of other servers, and one that is no JSON would spoil all of them. */
const isJson = ({ text }: Envelope): boolean => text.length <= parsedLength || parsed(text) !== undefined;
