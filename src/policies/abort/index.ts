import { NotEvaluated } from '../../errors.ts';
import { drawn } from '../fields/share.ts';
import type { Policy } from '../policy.ts';
import { abortSchema, type AbortSettings } from './facts.ts';

export const abort: Policy<AbortSettings> = {
  schema: abortSchema,
  prepare: ({ status, percentage }) => ({
    onRequest(exchange) {
      if (exchange.trial !== undefined && percentage < 1)
        throw new NotEvaluated(`it answers ${status} to a share of ${percentage} of the requests`);
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
