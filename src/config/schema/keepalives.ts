import { z } from 'zod';
import { fields, positiveDuration } from '../../schema/index.ts';

/** A time that the system counts in seconds, at most 32767 of them (TCP_KEEPIDLE, TCP_KEEPINTVL). */
const wholeSeconds = positiveDuration.refine((ms) => ms % 1_000 === 0 && ms <= 32_767_000, {
  error: 'expected whole seconds, at most 32767',
});

export const keepalives = fields({
  enabled: z.boolean().optional().describe('Send TCP keep-alive probes; true by default.'),
  time: wholeSeconds.optional().describe('Idle time before the first probe; 3m by default.'),
  interval: wholeSeconds.optional().describe('Time between probes; 3m by default.'),
  retries: z
    .int()
    .min(1)
    .max(127)
    .optional()
    .describe('Unanswered probes before the connection is given up; 9 by default.'),
});
