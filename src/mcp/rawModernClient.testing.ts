/** A client of revision 2026-07-28 for tests that sends exactly what it is told and shows exactly what came back. */

import { metaKeys, modernVersion } from './messages/eras.ts';
import { headerValue, nameMembers } from './messages/mirroredHeaders.ts';
import { RawClient, type Answered, type Events, type HeaderMap } from './rawClient.testing.ts';

export class RawModernClient {
  private readonly raw: RawClient;
  private readonly capabilities: object;

  constructor(url: URL, capabilities: object = {}, headers: HeaderMap = {}) {
    this.raw = new RawClient(url, { ...headers, 'mcp-protocol-version': modernVersion });
    this.capabilities = capabilities;
  }

  request(method: string, params: { readonly _meta?: object } = {}): object {
    const _meta = {
      ...params._meta,
      [metaKeys.protocolVersion]: modernVersion,
      [metaKeys.clientCapabilities]: this.capabilities,
    };
    return this.raw.request(method, { ...params, _meta });
  }

  /** The id of the last request. */
  get lastId(): number {
    return this.raw.lastId;
  }

  /** A POST whose answer is read by the caller. */
  fetch(
    method: string,
    params: object = {},
    headers: HeaderMap = {},
    signal?: AbortSignal,
  ): Promise<Response> {
    return this.raw.fetch(this.request(method, params), { ...headersOf(method, params), ...headers }, signal);
  }

  post(method: string, params: object = {}): Promise<Answered> {
    return this.raw.post(this.request(method, params), headersOf(method, params));
  }

  /** A POST whose answer is read as a stream while it goes on. */
  stream(method: string, params: object = {}, signal?: AbortSignal): Promise<Events> {
    return this.raw.stream(this.request(method, params), headersOf(method, params), signal);
  }

  /** Listens, and waits for the first message: the part of the filter that counts. */
  async listen(notifications: object): Promise<{ events: Events; honoured: unknown }> {
    const events = await this.stream('subscriptions/listen', { notifications });
    const first = await events.next();
    if (first?.method !== 'notifications/subscriptions/acknowledged')
      throw new Error(`not acknowledged: ${JSON.stringify(first)}`);
    return { events, honoured: first.params?.['notifications'] };
  }
}

function headersOf(method: string, params: object): HeaderMap {
  const member = nameMembers.get(method);
  const name = member === undefined ? undefined : (params as Readonly<Record<string, unknown>>)[member];
  return { 'mcp-method': method, ...(typeof name === 'string' && { 'mcp-name': headerValue(name) }) };
}
