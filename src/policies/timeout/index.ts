import type { Policy } from '../policy.ts';
import { timeoutSchema, type TimeoutSettings } from './facts.ts';

export const timeout: Policy<TimeoutSettings> = {
  schema: timeoutSchema,
  prepare: ({ requestTimeout, backendRequestTimeout }) => ({
    onRequest(x) {
      if (requestTimeout !== undefined) x.limitRequest(requestTimeout);
      if (backendRequestTimeout !== undefined) x.limitBackend(backendRequestTimeout);
      return undefined;
    },
  }),
};
