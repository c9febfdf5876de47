import { hideSecretForms, isSecretName, redactArguments, redacted } from '../telemetry/index.ts';
import type { MaskedFields } from './contract.ts';

/**
 * The model with its secrets replaced, for eyes and tickets. Three layers decide: the fields that the schemas mark
 * (`masked`), names that sound like a secret, so that a new field is covered before its schema marks it, and the secrets
 * that this process knows by their values.
 */
export const redactDump = (value: unknown, masked: MaskedFields): unknown =>
  new Redactor(masked).at('', value);

/** Masks nothing but what sounds like a secret. */
const noFields: MaskedFields = { settings: new Map(), fields: new Set() };

/** Members of a JWK that are private or symmetric key material (RFC 7518 §6). */
const privateJwkMembers = new Set(['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k']);

/** `session.key`, `sessionKey` and their like; a bare `key` names things in the model and is no secret. */
const keyMaterial = /(?:session|secret|signing|encryption|hmac|tls)[-_]?keys?$/i;

const isSecret = (name: string): boolean => isSecretName(name) || keyMaterial.test(name);

class Redactor {
  readonly #masked: MaskedFields;
  /** The name of the policy whose settings are read. */
  #settings: ReadonlySet<string> = new Set();

  constructor(masked: MaskedFields) {
    this.#masked = masked;
  }

  at(name: string, value: unknown): unknown {
    if (typeof value === 'string') return this.#isMasked(name) ? redacted : redactString(value);
    if (this.#masked.fields.has(name) || this.#settings.has(name)) return redactLeaves(value);
    if (Array.isArray(value)) return this.#array(name, value);
    if (typeof value !== 'object' || value === null) return value;
    // `authorization` is also the name of a policy; its rules are no secret. A header of that name is a string.
    if (isSecret(name) && name.toLowerCase() !== 'authorization') return redactLeaves(value);
    return this.#object(value);
  }

  #isMasked(name: string): boolean {
    return isSecret(name) || this.#masked.fields.has(name) || this.#settings.has(name);
  }

  #object(value: object): Record<string, unknown> {
    const isJwk = 'kty' in value;
    const named = 'name' in value && typeof value.name === 'string' ? value.name : '';
    // A header written as a pair of fields: {name: authorization, value: …}.
    const namesSecret = isSecret(named);
    const settings = this.#masked.settings.get(named);
    return Object.fromEntries(
      Object.entries(value).map(([key, member]) => {
        if (isJwk && privateJwkMembers.has(key)) return [key, redacted];
        if (namesSecret && key === 'value' && typeof member === 'string') return [key, redacted];
        return [
          key,
          settings !== undefined && key === 'settings'
            ? this.#policy(settings, member)
            : this.at(key, member),
        ];
      }),
    );
  }

  #policy(settings: ReadonlySet<string>, value: unknown): unknown {
    const outer = this.#settings;
    this.#settings = settings;
    try {
      return this.at('', value);
    } finally {
      this.#settings = outer;
    }
  }

  #array(name: string, list: readonly unknown[]): unknown[] {
    if (list.length === 2 && typeof list[0] === 'string' && typeof list[1] === 'string' && isSecret(list[0]))
      return [list[0], redacted];
    if (list.every((item) => typeof item === 'string'))
      return redactArguments(list).map((item) => this.at(name, item));
    return list.map((item) => this.at(name, item));
  }
}

const redactLeaves = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(redactLeaves);
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, redactLeaves(member)]));
  return value === null || value === undefined || typeof value === 'boolean' ? value : redacted;
};

const redactString = (text: string): string => hideSecretForms(redactJson(text) ?? redactUrl(text) ?? text);

/** An inline key set stands in the model as JSON text. */
const redactJson = (text: string): string | undefined => {
  if (!/^\s*[{[]/.test(text)) return undefined;
  try {
    return JSON.stringify(redactDump(JSON.parse(text), noFields));
  } catch {
    return undefined;
  }
};

/** Password and credentials in the query of a URL. */
const redactUrl = (text: string): string | undefined => {
  if (!/^[a-z][a-z0-9+.-]*:\/\//i.test(text) || !URL.canParse(text)) return undefined;
  const url = new URL(text);
  const secretParameters = [...url.searchParams.keys()].filter((key) => isSecret(key));
  if (url.password === '' && secretParameters.length === 0) return undefined;
  if (url.password !== '') url.password = 'redacted';
  for (const key of secretParameters) url.searchParams.set(key, 'redacted');
  return url.href;
};
