/** Requests that enter the data plane in the process of the gateway, so that all policies apply. */

import { ask } from './client.ts';
import type { GivenAnswer, SentRequest } from './types.ts';

/** Sends a request to a route. @throws ApiError where the gateway did not take it */
export const send = (route: string, request: SentRequest): Promise<GivenAnswer> =>
  ask<GivenAnswer>(`playground/${encodeURIComponent(route)}`, { method: 'POST', body: request });
