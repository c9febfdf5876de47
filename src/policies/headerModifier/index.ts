import { parseAuthority, type HeaderEdits } from '../../http/index.ts';
import type { HostRewrite, Policy } from '../policy.ts';
import {
  namesAuthority,
  requestHeaderModifierSchema,
  responseHeaderModifierSchema,
  type HeaderModifierSettings,
} from './facts.ts';

/** The order of the format: a name that is removed is gone, whatever else is said about it. */
function editor(settings: HeaderModifierSettings): (edits: HeaderEdits) => void {
  const set = Object.entries(settings.set).filter(([name]) => !namesAuthority(name));
  const add = Object.entries(settings.add);
  return (edits) => {
    for (const [name, value] of add) edits.add(name, value);
    for (const [name, value] of set) edits.set(name, value);
    for (const name of settings.remove) edits.remove(name);
  };
}

/** The host that `set` puts in place of the client's. */
function authorityOf({ set }: HeaderModifierSettings): HostRewrite | undefined {
  const text = Object.entries(set).find(([name]) => namesAuthority(name))?.[1];
  if (text === undefined) return undefined;
  return { kind: 'full', authority: parseAuthority(text)?.authority ?? text };
}

export const requestHeaderModifier: Policy<HeaderModifierSettings> = {
  schema: requestHeaderModifierSchema,
  prepare(settings) {
    const edit = editor(settings);
    const authority = authorityOf(settings);
    return {
      onRequest(exchange) {
        edit(exchange.requestHeaders);
        if (authority !== undefined) exchange.forwardHost = authority;
        return undefined;
      },
    };
  },
};

export const responseHeaderModifier: Policy<HeaderModifierSettings> = {
  schema: responseHeaderModifierSchema,
  prepare(settings) {
    const edit = editor(settings);
    return {
      onResponse(exchange) {
        edit(exchange.responseHeaders);
      },
    };
  },
};
