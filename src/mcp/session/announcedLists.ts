import { memberOf, type Envelope } from '../json/envelope.ts';

/** Features whose lists may change. */
export const changingLists: readonly string[] = ['tools', 'prompts', 'resources'];

/** The features of which a response to `initialize` says that the client is told when their lists change. */
export function announcedLists({ text, body }: Envelope): ReadonlySet<string> {
  const capabilities = memberOf(text, body, 'capabilities');
  if (typeof capabilities !== 'object') return new Set();
  const isAnnounced = (list: string): boolean => {
    const feature = memberOf(text, capabilities, list);
    const listChanged = typeof feature === 'object' ? memberOf(text, feature, 'listChanged') : undefined;
    return typeof listChanged === 'object' && text.slice(listChanged.start, listChanged.end) === 'true';
  };
  return new Set(changingLists.filter(isAnnounced));
}

export const listChangedText = (list: string): string =>
  `{"jsonrpc":"2.0","method":"notifications/${list}/list_changed"}`;
