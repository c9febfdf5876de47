import type { Steps } from '../../policies/index.ts';

/** The kinds of steps that stand in a list of their route. */
export type StepName =
  | 'onRequest'
  | 'credentials'
  | 'onResponse'
  | 'watchCaller'
  | 'onWellKnown'
  | 'refuseMcpItem'
  | 'neededScopes'
  | 'countMcpCall'
  | 'mcpCallTime'
  | 'onMcpRequest'
  | 'onMcpResult';
export type Step<Of extends StepName> = Required<Steps>[Of];
