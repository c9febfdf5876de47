import { bodyWithin } from './bodyWithin.ts';

const mostBytes = 262_144;
const bodiless: ReadonlySet<number> = new Set([204, 205, 304]);

/**
 * Makes the `fetch` of calls to a provider: it follows no redirect, and reads no more than 256 KiB.
 * @param ended ends with the owner of the calls
 * @param onSend hears of each request
 * @param send another `fetch`, such as one that is guarded
 */
export const boundedFetch =
  (ended?: AbortSignal, onSend?: () => void, send: typeof fetch = fetch): typeof fetch =>
  async (input, init) => {
    onSend?.();
    const signals = [ended, init?.signal].filter((signal) => signal !== undefined && signal !== null);
    const response = await send(input, {
      ...init,
      redirect: 'manual',
      ...(signals.length > 0 && { signal: AbortSignal.any(signals) }),
    });
    const { status, headers } = response;
    const body = await bodyWithin(response, mostBytes);
    return new Response(body.length === 0 || bodiless.has(status) ? null : body, { status, headers });
  };
