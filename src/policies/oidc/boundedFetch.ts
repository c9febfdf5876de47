import type { CustomFetch } from 'openid-client';
import { bodyWithin } from '../token/bodyWithin.ts';

const mostBytes = 262_144;

/**
 * The `fetch` of a call to a provider: it follows no redirect, and reads no more than 256 KiB.
 * @param ended ends with the policy
 * @param onSend hears of each request
 */
export const boundedFetch =
  (ended: AbortSignal, onSend: () => void): CustomFetch =>
  async (url, { signal, ...options }) => {
    onSend();
    const response = await fetch(url, {
      ...options,
      body: (options.body ?? null) as NonNullable<RequestInit['body']> | null,
      redirect: 'manual',
      signal: signal === undefined ? ended : AbortSignal.any([ended, signal]),
    });
    const { status, headers } = response;
    const body = await bodyWithin(response, mostBytes);
    return new Response(body.length === 0 ? null : body, { status, headers });
  };
