import { eventsOf } from './events.ts';
import type { Receive, Stream, Wire } from './wire.ts';

export interface HttpWireOptions {
  /** Sent as `MCP-Protocol-Version` after `initialize`. */
  readonly revision: string;
  readonly token?: string;
}

/** Speaks Streamable HTTP of the revisions that have sessions. */
export function httpWire(url: string, { revision, token }: HttpWireOptions, receive: Receive): Wire {
  let session: string | undefined;
  const ending = new AbortController();
  const reading: Promise<void>[] = [];
  const broken: unknown[] = [];

  const ask = async (method: string, body?: string): Promise<Response> =>
    await fetch(url, {
      method,
      signal: ending.signal,
      headers: {
        accept: method === 'GET' ? 'text/event-stream' : 'application/json, text/event-stream',
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(session === undefined ? {} : { 'mcp-session-id': session, 'mcp-protocol-version': revision }),
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      },
      ...(body === undefined ? {} : { body }),
    });

  /** Reads in the background, because the answer to a call may wait for another message of the client. */
  const read = (response: Response, stream: Stream): void => {
    reading.push(
      readMessages(response, (text) => receive(text, stream)).catch((error: unknown) => {
        // The end of the session breaks off every stream that is still open.
        if (!ending.signal.aborted) broken.push(error);
      }),
    );
  };

  const close = async (): Promise<void> => {
    ending.abort();
    await Promise.all(reading);
    if (broken.length > 0) throw new AggregateError(broken, 'a stream broke off');
  };

  return {
    async send(text) {
      const response = await ask('POST', text);
      session ??= response.headers.get('mcp-session-id') ?? undefined;
      read(response, 'POST');
      return response.status;
    },
    async listen() {
      const response = await ask('GET');
      if (response.status !== 200) throw new Error(`GET was answered with ${response.status}`);
      read(response, 'GET');
    },
    async end() {
      const statuses: number[] = [];
      for (const response of [
        await ask('DELETE'),
        await ask('POST', '{"jsonrpc":"2.0","id":"late","method":"ping"}'),
      ]) {
        statuses.push(response.status);
        await response.text();
      }
      await close();
      return statuses;
    },
    close,
  };
}

/** Hands on the messages of a JSON body or of an event stream, each as its text. */
export async function readMessages(response: Response, take: (text: string) => void): Promise<void> {
  const type = response.headers.get('content-type') ?? '';
  if (!type.startsWith('text/event-stream')) {
    const text = await response.text();
    if (text !== '' && type.startsWith('application/json')) take(text);
    return;
  }
  for await (const { data } of eventsOf(response)) take(data);
}
