import type { Policy } from '../policy.ts';
import { requestMirrorSchema, type RequestMirrorSettings } from './facts.ts';

/** The data plane copies the requests (`proxy/forward/mirror.ts`). */
export const requestMirror: Policy<RequestMirrorSettings> = {
  schema: requestMirrorSchema,
  prepare: ({ mirrors }) => ({ forwarding: { mirrors } }),
};
