import type { Policy } from '../policy.ts';
import { bufferSchema, type BufferSettings } from './facts.ts';

/** The data plane gathers the bodies (`proxy/forward/plannedForward.ts`). */
export const buffer: Policy<BufferSettings> = {
  schema: bufferSchema,
  prepare: (settings) => ({ forwarding: { buffer: settings } }),
};
