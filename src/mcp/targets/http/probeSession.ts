import { targetError } from '../../messages/rpcError.ts';
import type { HttpTransport } from './httpTransport.ts';

/** The time for a server to say whether it knows a session, in milliseconds. */
const answerMs = 10_000;

/**
 * Asks a server whether it knows the session still, whatever it says to that.
 * @throws GatewayError mcp_session_unknown, or what the server failed with
 */
export async function probeSession(transport: HttpTransport): Promise<void> {
  const wireId = transport.calling.nextId();
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const late = setTimeout(
    () => transport.failed(wireId, targetError('mcp_target_timeout', transport.name, 'does not answer')),
    answerMs,
  );
  transport.calling.add(wireId, { answered: () => resolve(), failed: reject });
  transport.post(`{"jsonrpc":"2.0","id":${wireId},"method":"ping"}`, 'ping', wireId);
  try {
    await promise;
  } finally {
    clearTimeout(late);
    transport.forget(wireId);
  }
}
