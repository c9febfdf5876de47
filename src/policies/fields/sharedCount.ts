import { z } from 'zod';

/**
 * The fields of a count that replicas may share.
 * @param counted the things that it counts, in the plural
 * @param local who counts for `scope: local`
 */
export const sharedCount = (counted: string, local: string) => ({
  scope: z
    .enum(['local', 'global'])
    .optional()
    .meta({
      description: `Who counts: \`local\`, the default, is ${local}; \`global\` is all gateways that share \`config.store\`.`,
    }),
  failureMode: z
    .enum(['countLocally', 'failClosed'])
    .optional()
    .meta({
      description: `For \`scope: global\`, while the store cannot count: \`countLocally\`, the default, or \`failClosed\`, which refuses ${counted} with 503.`,
    }),
});

interface Given {
  readonly scope: 'local' | 'global' | undefined;
  readonly failureMode: 'countLocally' | 'failClosed' | undefined;
}

/** The fields without the ordinary scope and the ordinary failure mode. */
export function unusualOf(
  { scope, failureMode }: Given,
  ctx: z.RefinementCtx,
): { readonly scope?: 'global'; readonly failureMode?: 'failClosed' } {
  if (failureMode !== undefined && scope !== 'global')
    ctx.addIssue({ code: 'custom', message: 'is for scope: global', path: ['failureMode'] });
  return {
    ...(scope === 'global' && { scope }),
    ...(failureMode === 'failClosed' && { failureMode }),
  };
}
