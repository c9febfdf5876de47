import { eventsOf } from './events.ts';
import type { Receive, Wire } from './wire.ts';

/** Speaks HTTP+SSE, the transport of revision 2024-11-05: all messages of the server come on one stream. */
export function sseWire(url: string, receive: Receive): Wire {
  const ending = new AbortController();
  const { promise: endpoint, resolve, reject } = Promise.withResolvers<URL>();
  const reading = (async () => {
    const response = await fetch(url, { signal: ending.signal, headers: { accept: 'text/event-stream' } });
    for await (const { event, data } of eventsOf(response))
      if (event === 'endpoint') resolve(new URL(data, url));
      else receive(data, 'all');
  })().catch((error: unknown) => {
    if (!ending.signal.aborted) reject(error);
  });
  const close = async (): Promise<void> => {
    ending.abort();
    await reading;
  };
  return {
    async send(text) {
      const headers = { 'content-type': 'application/json' };
      const response = await fetch(await endpoint, { method: 'POST', headers, body: text });
      if (response.status !== 202) throw new Error(`POST was answered with ${response.status}`);
      await response.text();
      return undefined;
    },
    listen: () => Promise.resolve(),
    end: async () => {
      await close();
      // HTTP+SSE has no DELETE. These are the statuses that Streamable HTTP demands.
      return [204, 404];
    },
    close,
  };
}
