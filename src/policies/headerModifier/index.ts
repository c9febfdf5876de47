import type { HeaderEdits } from '../../http/index.ts';
import type { Policy } from '../policy.ts';
import {
  requestHeaderModifierSchema,
  responseHeaderModifierSchema,
  type HeaderModifierSettings,
} from './schema.ts';

/** First what goes, then what replaces, then what is added: so a name that is set and added to keeps both. */
function editor(settings: HeaderModifierSettings): (edits: HeaderEdits) => void {
  const set = Object.entries(settings.set);
  const add = Object.entries(settings.add);
  return (edits) => {
    for (const name of settings.remove) edits.remove(name);
    for (const [name, value] of set) edits.set(name, value);
    for (const [name, value] of add) edits.add(name, value);
  };
}

export const requestHeaderModifier: Policy<HeaderModifierSettings> = {
  name: 'requestHeaderModifier',
  schema: requestHeaderModifierSchema,
  prepare(settings) {
    const edit = editor(settings);
    return {
      onRequest(x) {
        edit(x.requestHeaders);
        return undefined;
      },
    };
  },
};

export const responseHeaderModifier: Policy<HeaderModifierSettings> = {
  name: 'responseHeaderModifier',
  schema: responseHeaderModifierSchema,
  prepare(settings) {
    const edit = editor(settings);
    return {
      onResponse(x) {
        edit(x.responseHeaders);
      },
    };
  },
};
