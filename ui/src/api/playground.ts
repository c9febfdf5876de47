/** Requests that enter the data plane in the process of the gateway, so that all policies apply. */

import { EventReader } from './eventReader.ts';
import { ask, openAnswer } from './client.ts';
import type { GivenAnswer, SentRequest } from './types.ts';

const pathOf = (route: string): string => `playground/${encodeURIComponent(route)}`;

/** Sends a request to a route. @throws ApiError where the gateway did not take it */
export const send = (route: string, request: SentRequest): Promise<GivenAnswer> =>
  ask<GivenAnswer>(pathOf(route), { method: 'POST', body: request });

/** The head of a response. */
export type Head = Pick<GivenAnswer, 'status' | 'headers' | 'requestId'>;

export interface Receiver {
  readonly onHead: (head: Head) => void;
  /** Gets each part of the body as it arrives. */
  readonly onText: (text: string) => void;
  /** Ends the request. */
  readonly signal?: AbortSignal;
}

/**
 * Sends a request to a route, and reads the response while it arrives.
 * @throws ApiError where the gateway did not take it; TypeError where the connection ends
 */
export async function sendStreamed(route: string, request: SentRequest, to: Receiver): Promise<Head> {
  const response = await openAnswer(`${pathOf(route)}/stream`, { method: 'POST', body: request }, to.signal);
  let head: Head | undefined;
  const events = new EventReader(({ event, data }) => {
    const value: unknown = JSON.parse(data);
    if (event === 'head') {
      head = value as Head;
      to.onHead(head);
    } else if (event === 'data') to.onText((value as { readonly text: string }).text);
  });
  const text = new TextDecoder();
  const reader = response.body?.getReader();
  for (let part = await reader?.read(); part?.done === false; part = await reader?.read())
    events.read(text.decode(part.value, { stream: true }));
  if (head === undefined) throw new TypeError('The gateway sent no head.');
  return head;
}
