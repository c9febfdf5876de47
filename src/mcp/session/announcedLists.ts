import { memberOf, type Envelope } from '../json/envelope.ts';

/** Features whose lists may change. */
export const changingLists: readonly string[] = ['tools', 'prompts', 'resources'];

/** The features with lists that a response to `initialize` tells of: the client hears when these lists change. */
export function announcedLists({ text, body }: Envelope): ReadonlySet<string> {
  const capabilities = memberOf(text, body, 'capabilities');
  if (typeof capabilities !== 'object') return new Set();
  return new Set(changingLists.filter((list) => typeof memberOf(text, capabilities, list) === 'object'));
}

export const listChangedText = (list: string): string =>
  `{"jsonrpc":"2.0","method":"notifications/${list}/list_changed"}`;
