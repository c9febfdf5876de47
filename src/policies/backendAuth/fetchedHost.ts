import { boundedFetch } from '../../auth/index.ts';
import { messageOf } from '../../errorText.ts';
import { GatewayError } from '../../errors.ts';
import type { Host } from '../policy.ts';

/**
 * A host that is asked by a `fetch`, such as the guarded one of policies that a tenant wrote. No connection is kept for
 * the next request, since the address of each is checked.
 * @param origin scheme, host and port
 */
export const fetchedHost = (origin: string, send: typeof fetch): Host => ({
  async ask({ method, target, headers, body, timeoutMs }) {
    const signal = AbortSignal.timeout(timeoutMs);
    try {
      const response = await boundedFetch(
        signal,
        undefined,
        send,
      )(`${origin}${target}`, {
        method,
        headers: headers.map(([name, value]): [string, string] => [name, value]),
        ...(body === undefined ? {} : { body: body.toString() }),
      });
      return {
        status: response.status,
        headers: [...response.headers],
        body: Buffer.from(await response.arrayBuffer()),
        trailers: [],
      };
    } catch (cause) {
      throw signal.aborted
        ? new GatewayError('upstream_timeout', { cause })
        : new GatewayError('upstream_connect_failed', { detail: messageOf(cause), cause });
    }
  },
});
