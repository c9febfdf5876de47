import { targetError } from '../../messages/rpcError.ts';
import type { Traffic } from './traffic.ts';

/** The time for a server to say whether it knows a session, in milliseconds. */
const answerMs = 10_000;

/**
 * Asks a server whether it knows the session still, whatever it says to that.
 * @throws GatewayError mcp_session_unknown, or what the server failed with
 */
export async function signOfLife(traffic: Traffic): Promise<void> {
  const wireId = traffic.calling.nextId();
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const late = setTimeout(
    () => traffic.failed(wireId, targetError('mcp_target_timeout', traffic.name, 'does not answer')),
    answerMs,
  );
  traffic.calling.add(wireId, { answered: () => resolve(), failed: reject });
  traffic.post(`{"jsonrpc":"2.0","id":${wireId},"method":"ping"}`, 'ping', wireId);
  try {
    await promise;
  } finally {
    clearTimeout(late);
    traffic.forget(wireId);
  }
}
