import { isSecretName, redacted, redactText } from '../telemetry/index.ts';

/**
 * The model with its secrets replaced, for eyes and tickets. Which values are secret is decided by where they stand,
 * not by what a schema says, so that a new field or policy is covered before anybody thinks of it.
 */
export const redactDump = (value: unknown): unknown => redactAt('', value);

/** Members of a JWK that are private or symmetric key material (RFC 7518 §6). */
const privateJwkMembers = new Set(['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k']);

/** `session.key`, `sessionKey` and their like; a bare `key` names things in the model and is no secret. */
const keyMaterial = /(?:session|secret|signing|encryption|hmac|tls)[-_]?keys?$/i;

const isSecret = (name: string): boolean => isSecretName(name) || keyMaterial.test(name);

const redactAt = (name: string, value: unknown): unknown => {
  if (typeof value === 'string') return isSecret(name) ? redacted : redactString(value);
  if (Array.isArray(value)) return redactArray(name, value);
  if (typeof value !== 'object' || value === null) return value;
  // `authorization` is also the name of a policy; its rules are no secret. A header of that name is a string.
  if (isSecret(name) && name.toLowerCase() !== 'authorization') return redactLeaves(value);
  // Environment of a child: any of them may be an API key, whatever its name.
  if (name === 'env') return redactLeaves(value);
  return redactObject(value);
};

const redactObject = (value: object): Record<string, unknown> => {
  const isJwk = 'kty' in value;
  // A header written as a pair of fields: {name: authorization, value: …}.
  const namesSecret = 'name' in value && typeof value.name === 'string' && isSecret(value.name);
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [
      key,
      (isJwk && privateJwkMembers.has(key)) || (namesSecret && key === 'value' && typeof member === 'string')
        ? redacted
        : redactAt(key, member),
    ]),
  );
};

/** `--api-key=…` and `--token …` in the arguments of a child. */
const secretFlag = /^--?[\w-]*(?:token|secret|passw(?:or)?d|key|auth)[\w-]*$/i;

const redactArray = (name: string, list: readonly unknown[]): unknown[] => {
  if (list.length === 2 && typeof list[0] === 'string' && typeof list[1] === 'string' && isSecret(list[0]))
    return [list[0], redacted];
  return list.map((item, i) => {
    if (typeof item !== 'string') return redactAt(name, item);
    const before: unknown = list[i - 1];
    if (typeof before === 'string' && secretFlag.test(before) && !item.startsWith('-')) return redacted;
    const equals = item.indexOf('=');
    if (equals > 0 && secretFlag.test(item.slice(0, equals))) return `${item.slice(0, equals)}=${redacted}`;
    return redactAt(name, item);
  });
};

const redactLeaves = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(redactLeaves);
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, redactLeaves(member)]));
  return value === null || value === undefined || typeof value === 'boolean' ? value : redacted;
};

const redactString = (text: string): string => redactJson(text) ?? redactUrl(text) ?? redactText(text);

/** An inline key set stands in the model as JSON text. */
const redactJson = (text: string): string | undefined => {
  if (!/^\s*[{[]/.test(text)) return undefined;
  try {
    return JSON.stringify(redactDump(JSON.parse(text)));
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
