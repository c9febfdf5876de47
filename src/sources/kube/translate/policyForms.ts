import type { PolicyName } from '../../../policies/facts.ts';
import { isRecord } from '../api/object.ts';
import type { EntryName } from './entries.ts';

/**
 * Where the file names another file, or holds a secret, an object of the cluster names a Secret or ConfigMap of its
 * namespace: these are the places, how they are written there, and how that becomes what the schemas of the policies
 * know. The CRD is made of the same table (`npm run generate`).
 */

/** Texts of the namespace of a policy. */
export interface Texts {
  /** @throws Unusable where there is none */
  secret(name: string, entry: SecretEntry): string;
  /** @throws Unusable where there is none */
  configMap(name: string, entry: MapEntry): string;
}

/** What is kept in memory of Secrets and ConfigMaps for policies; nothing else of them can be named. */
export const secretEntries = ['.htpasswd', 'api-key'] as const satisfies readonly EntryName[];
export const mapEntries = ['jwks.json'] as const satisfies readonly EntryName[];
export type SecretEntry = (typeof secretEntries)[number];
export type MapEntry = (typeof mapEntries)[number];

/** A part of a policy that cannot be used; the message is for everybody who may read the policy. */
export class Unusable extends Error {}

type Fields = Readonly<Record<string, unknown>>;

interface Form {
  /** Fields of the file that are not for the cluster. */
  readonly without: readonly string[];
  /** Fields in their place, with what they say of themselves. */
  readonly adds: Readonly<Record<string, string>>;
  /** Exactly one of these is given. */
  readonly oneOf: readonly string[];
  read(fields: Fields, texts: Texts): unknown;
}

/** A form and where it stands in the settings of a policy; `*`: in each of a list. */
export interface PlacedForm extends Form {
  readonly path: readonly string[];
}

const text = (fields: Fields, name: string): string | undefined => {
  const value = fields[name];
  if (value === undefined || (typeof value === 'string' && value !== '')) return value;
  throw new Unusable(`${name}: expected a text`);
};

/** What editors end a file with is no part of a key. */
const keyOf = (texts: Texts, name: string | undefined): string =>
  texts.secret(name ?? '', 'api-key').replace(/\r?\n$/, '');

const jwks: Form = {
  without: ['file'],
  adds: { configMap: 'A ConfigMap of the same namespace that holds the key set as jwks.json.' },
  oneOf: ['url', 'inline', 'configMap'],
  read(fields, texts) {
    const name = text(fields, 'configMap');
    return name === undefined ? fields : { inline: texts.configMap(name, 'jwks.json') };
  },
};

const htpasswd: Form = {
  without: ['file'],
  adds: {
    inline: 'The text itself, a `user:hash` a line.',
    secret: 'A Secret of the same namespace that holds it as .htpasswd.',
  },
  oneOf: ['inline', 'secret'],
  read: (fields, texts) => text(fields, 'inline') ?? texts.secret(text(fields, 'secret') ?? '', '.htpasswd'),
};

const keySecret = 'A Secret of the same namespace that holds the key as api-key.';

const acceptedKey: Form = {
  without: ['key'],
  adds: { secret: keySecret },
  oneOf: ['keyHash', 'secret'],
  read: ({ secret, ...fields }, texts) =>
    secret === undefined ? fields : { ...fields, key: keyOf(texts, text({ secret }, 'secret')) },
};

const sentKey: Form = {
  without: ['value'],
  adds: { secret: keySecret },
  oneOf: ['secret'],
  read: ({ secret, ...fields }, texts) => ({
    ...fields,
    value: keyOf(texts, text({ secret }, 'secret')),
  }),
};

const furtherKey: Form = {
  without: ['file'],
  adds: { secret: keySecret },
  oneOf: ['secret'],
  read: (fields, texts) => keyOf(texts, text(fields, 'secret')),
};

const at = (path: string, form: Form): PlacedForm => ({ ...form, path: path.split('.') });

/** By policy; those that are not here are written as in the file. */
export const forms: Partial<Readonly<Record<PolicyName, readonly PlacedForm[]>>> = {
  jwtAuth: [at('jwks', jwks), at('providers.*.jwks', jwks)],
  mcpAuthentication: [at('jwks', jwks)],
  basicAuth: [at('htpasswd', htpasswd)],
  apiKey: [at('keys.*', acceptedKey)],
  backendAuth: [at('key', sentKey), at('credentials.*.key', furtherKey)],
};

/**
 * Settings as the schema of the policy knows them.
 * @throws Unusable
 */
export function inForm(name: PolicyName, settings: unknown, texts: Texts): unknown {
  let value = settings;
  for (const form of forms[name] ?? []) value = replaced(value, form.path, form, texts, name);
  return value;
}

/** What is of another shape stays as it is: the schema says what is wrong with it. */
function replaced(value: unknown, path: readonly string[], form: Form, texts: Texts, at: string): unknown {
  const [key, ...rest] = path;
  if (key === undefined) return readForm(value, form, texts, at);
  if (key === '*')
    return Array.isArray(value)
      ? value.map((one: unknown, index) => replaced(one, rest, form, texts, `${at}[${index}]`))
      : value;
  if (!isRecord(value) || value[key] === undefined) return value;
  return { ...value, [key]: replaced(value[key], rest, form, texts, `${at}.${key}`) };
}

/** Never as the file has it: that would name a file of the proxy, or hold a secret that everybody can read. */
function readForm(value: unknown, { without, oneOf, read }: Form, texts: Texts, at: string): unknown {
  if (!isRecord(value)) throw new Unusable(`${at}: expected a map with ${oneOf.join(', ')}`);
  const refused = without.find((name) => value[name] !== undefined);
  if (refused !== undefined) throw new Unusable(`${at}.${refused}: is not for the cluster`);
  if (oneOf.filter((name) => value[name] !== undefined).length !== 1)
    throw new Unusable(`${at}: expected ${oneOf.length === 1 ? '' : 'exactly one of '}${oneOf.join(', ')}`);
  try {
    return read(value, texts);
  } catch (error) {
    throw error instanceof Unusable ? new Unusable(`${at}: ${error.message}`) : error;
  }
}
