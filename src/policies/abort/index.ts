import { drawn } from '../fields/share.ts';
import type { Policy } from '../policy.ts';
import { abortSchema, type AbortSettings } from './facts.ts';

export const abort: Policy<AbortSettings> = {
  schema: abortSchema,
  prepare: ({ status, percentage }) => ({
    onRequest(exchange) {
      if (!drawn(percentage)) return undefined;
      exchange.request.annotate('fault', 'abort');
      return {
        status,
        headers: [['content-type', 'text/plain; charset=utf-8']],
        body: 'fault injected by the gateway\n',
      };
    },
  }),
};
