import type { z } from 'zod';
import { choice, fields } from '../../schema/index.ts';

/** `proxyProtocol` of a port, and of `frontendPolicies` for all of them. */
export const proxyProtocol = fields({
  version: choice(['v1', 'v2', 'all']).optional().describe('Versions that are accepted; v2 by default.'),
  mode: choice(['strict', 'optional'])
    .optional()
    .describe('optional: connections without a header are taken, too; strict, the default: they are closed.'),
});

export type ProxyProtocolSettings = z.output<typeof proxyProtocol>;
