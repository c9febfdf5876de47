import type { z } from 'zod';
import { isRecord } from '../api/object.ts';
import type { ConfigMap, GatewayPolicy, Secret } from '../types/index.ts';
import { problem, type Problem } from './conditions.ts';
import { whyMissing } from './entries.ts';
import { written } from './grants.ts';
import type { Guard } from './guard.ts';
import type { Lookup } from './lookup.ts';
import { inForm, Unusable, type Texts } from './policyForms.ts';
import { keySetUrl, keySetUrlRule, requestPolicyNamed, schemaOf, sharedSetting } from './policyKinds.ts';
import { said } from './settings.ts';

/** Settings as the model has them, or why they cannot be used. */
export type ReadPolicy =
  | {
      readonly settings: unknown;
      /** The setting that only proxies with a store can serve. */
      readonly shared?: string;
    }
  | Problem;

/** By name of the policy. */
export type ReadPolicies = ReadonlyMap<string, ReadPolicy>;

/** The settings of an object, together with the Secrets and ConfigMaps that were looked at for it. */
interface Remembered {
  readonly policies: ReadPolicies;
  readonly looked: readonly Looked[];
}

interface Looked {
  readonly from: 'secrets' | 'configMaps';
  readonly key: string;
  readonly found: Secret | ConfigMap | undefined;
}

/** Expressions take a moment to be compiled, and objects stay the same until they change. */
const remembered = new WeakMap<GatewayPolicy, Remembered>();

/** The policies that an object holds, each with its own schema, expressions included. */
export function readPolicies(object: GatewayPolicy, lookup: Lookup, guard: Guard): ReadPolicies {
  const before = remembered.get(object);
  if (before?.looked.every(({ from, key, found }) => lookup[from].get(key) === found) === true)
    return before.policies;
  const looked: Looked[] = [];
  const texts = textsOf(object.metadata.namespace ?? '', lookup, looked);
  const policies = new Map<string, ReadPolicy>();
  for (const [name, value] of Object.entries(object.spec?.policies ?? {})) {
    // A defect of ours closes what the policy is for, like everything else that is wrong with it.
    policies.set(name, invalid(`${name}: it could not be read`));
    guard('GatewayPolicy', object, () => policies.set(name, read(name, value, texts)));
  }
  remembered.set(object, { policies, looked });
  return policies;
}

const invalid = (message: string): Problem => problem('Invalid', message);

function read(name: string, value: unknown, texts: Texts): ReadPolicy {
  const schema = schemaOf(name);
  if (schema === undefined) return invalid(`${name}: no policy of this version is called so`);
  try {
    const policy = requestPolicyNamed(name);
    const result = schema.safeParse(policy === undefined ? value : inForm(policy, value, texts));
    if (!result.success) return invalid(`${name}: ${said(result.error.issues as z.core.$ZodIssue[])}`);
    const shared = sharedSetting(name, result.data);
    const url = keySetUrls(result.data).find((one) => !keySetUrl.test(one));
    return url === undefined
      ? { settings: result.data, ...(shared === undefined ? {} : { shared }) }
      : invalid(`${name}: keys from ${url}: ${keySetUrlRule}`);
  } catch (error) {
    if (error instanceof Unusable) return invalid(error.message);
    throw error;
  }
}

/** The URLs from which the keys of tokens are fetched, derived addresses included. */
function keySetUrls(settings: unknown): readonly string[] {
  if (!isRecord(settings)) return [];
  const { jwks } = settings;
  if (isRecord(jwks))
    return [jwks['url'], jwks['derived']].filter((url): url is string => typeof url === 'string');
  // jwtAuth has providers, and mcpAuthentication has issuers.
  return [settings['providers'], settings['issuers']].flatMap((list) =>
    Array.isArray(list) ? list.flatMap(keySetUrls) : [],
  );
}

function textsOf(namespace: string, lookup: Lookup, looked: Looked[]): Texts {
  const find = (from: Looked['from'], kind: string, name: string, entry: string): string => {
    const key = `${namespace}/${name}`;
    const found = lookup[from].get(key);
    looked.push({ from, key, found });
    const what = written(kind, namespace, name);
    if (found === undefined) throw new Unusable(`${what}: there is none`);
    const text = found.data?.[entry];
    if (text === undefined || text === '') throw new Unusable(`${what}: ${whyMissing(found, entry)}`);
    return text;
  };
  return {
    namespace,
    secret: (name, entry) => Buffer.from(find('secrets', 'Secret', name, entry), 'base64').toString('utf8'),
    configMap: (name, entry) => find('configMaps', 'ConfigMap', name, entry),
  };
}
