import type { EnvironmentVariable } from '../../mcp/targets/facts.ts';
import type { ObjectMeta } from '../api/object.ts';
import { problem, type Problem } from './conditions.ts';
import { whyMissing } from './entries.ts';
import { written } from './grants.ts';
import type { Lookup } from './lookup.ts';

const useLabel = 'portcullis.dev/use';
const useForPrograms = 'mcp-env';

/**
 * May programs of McpBackends be given what a Secret holds? Whoever may write McpBackends need not be one who may read
 * every Secret of the namespace, and a program can pass on what it is given: so the Secret says it.
 */
export const isForPrograms = ({ labels }: ObjectMeta): boolean => labels?.[useLabel] === useForPrograms;

/** The environment of a program. No value is ever part of what is said about it. */
export function environmentOf(
  variables: readonly EnvironmentVariable[] = [],
  namespace: string,
  { secrets }: Lookup,
): { readonly env: Readonly<Record<string, string>> } | Problem {
  const env: [string, string][] = [];
  for (const { name, value, valueFrom } of variables) {
    if (valueFrom === undefined) {
      env.push([name, value ?? '']);
      continue;
    }
    const { name: secretName, key } = valueFrom.secretKeyRef;
    const what = `env ${name}: ${written('Secret', namespace, secretName)}`;
    const secret = secrets.get(`${namespace}/${secretName}`);
    if (secret === undefined) return problem('InvalidSecretRef', `${what}: there is none`);
    if (!isForPrograms(secret.metadata))
      return problem('RefNotPermitted', `${what}: it has no label ${useLabel}: ${useForPrograms}`);
    const data = secret.data?.[key];
    if (data === undefined) return problem('InvalidSecretRef', `${what}: ${whyMissing(secret, key)}`);
    const text = textOf(data);
    if (text === undefined)
      return problem('InvalidSecretRef', `${what}: entry ${key} is no text that a variable can have`);
    env.push([name, text]);
  }
  return { env: Object.fromEntries(env) };
}

function textOf(data: string): string | undefined {
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(
      Buffer.from(data, 'base64'),
    );
    return text.includes('\0') ? undefined : text;
  } catch {
    return undefined;
  }
}
