import { createKeySets } from '../auth/index.ts';
import type { KeySet, KeySets } from '../auth/index.ts';
import { memoryLog, type Line } from '../auth/log.testing.ts';
import { fixedKeys, nowSeconds, type TestKey } from '../auth/token.testing.ts';
import { LocalTokens } from './localRateLimit/localTokens.ts';
import type { McpItem } from '../mcp/contract.ts';
import type { Exchange, Policy, PolicyTools, Steps } from './policy.ts';

export interface TestTools extends PolicyTools {
  readonly lines: readonly Line[];
  /** Key sets that policies hold at the moment. */
  readonly held: () => number;
}

/** Tools whose key sets all hold these keys; `ready: false` plays a provider that never answered. */
export function toolsWith(keys: readonly TestKey[], ready = true): TestTools {
  const { log, lines } = memoryLog();
  const set: KeySet = { ...fixedKeys(keys), ready };
  let held = 0;
  const keySets: KeySets = {
    use() {
      held += 1;
      return {
        set,
        release() {
          held -= 1;
        },
      };
    },
    view: () => [],
    close: () => undefined,
  };
  return { log, lines, keySets, ...standingStill(), held: () => held };
}

/** Real key sets, for inline ones. */
export function realTools(): TestTools {
  const { log, lines } = memoryLog();
  const keySets = createKeySets({ log });
  return { log, lines, keySets, ...standingStill(), held: () => keySets.view().length };
}

const standingStill = (): Pick<PolicyTools, 'hosts' | 'now' | 'place' | 'tokens' | 'fetch'> => {
  const now = (): number => nowSeconds * 1000;
  const hosts = {
    use: () => {
      throw new Error('the policies of these tests call no host');
    },
  };
  return { hosts, now, place: 'here', tokens: new LocalTokens(now), fetch };
};

/** Checks the written settings with the policy's schema and prepares it. */
export function prepared<Settings>(
  policy: Policy<Settings>,
  written: unknown,
  tools: PolicyTools = toolsWith([]),
): Steps {
  return policy.prepare(policy.schema.parse(written), tools);
}

/** Asks a policy that has rules about items; an absent step is a mistake of the test. */
export const allowsItem =
  ({ refuseMcpItem }: Steps) =>
  (exchange: Exchange, item: McpItem): boolean => {
    if (refuseMcpItem === undefined) throw new Error('the policy has no rule about items');
    return refuseMcpItem(exchange, item) === undefined;
  };
