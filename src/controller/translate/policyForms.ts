import { factsOf, type ClusterForm, type PolicyName } from '../../policies/facts.ts';
import { isRecord } from '../api/object.ts';
import { serverProblem } from './calledServers.ts';

/**
 * A setting that names a file, or holds a secret, in the file names a Secret or ConfigMap of its namespace in the
 * cluster. The facts of each policy say where; the CRD is made of the same facts (`npm run generate`).
 */

type Entry<Field> = Extract<ClusterForm['from'], { readonly field: Field }>['entry'];

/** Texts of the namespace of a policy. */
export interface Texts {
  readonly namespace: string;
  /** @throws Unusable where there is none */
  secret(name: string, entry: Entry<'secret'>): string;
  /** @throws Unusable where there is none */
  configMap(name: string, entry: Entry<'configMap'>): string;
}

/** A part of a policy that cannot be used; the message is for everybody who may read the policy. */
export class Unusable extends Error {}

/** The fields of which exactly one stands there. */
export const alternatives = ({ or = {}, from }: ClusterForm): readonly string[] => [
  ...Object.keys(or),
  from.field,
];

/**
 * Settings as the schema of the policy knows them.
 * @throws Unusable
 */
export function inForm(name: PolicyName, settings: unknown, texts: Texts): unknown {
  const facts = factsOf(name);
  const forFiles = facts?.notInCluster?.find((field) => isRecord(settings) && settings[field] !== undefined);
  if (forFiles !== undefined) throw new Unusable(`${name}.${forFiles}: is not for the cluster`);
  const problem = serverProblem(name, settings, texts.namespace);
  if (problem !== undefined) throw new Unusable(problem);
  let value = settings;
  for (const form of facts?.clusterForms ?? [])
    value = replaced(value, form.path.split('.'), form, texts, name);
  return value;
}

/** Settings of another shape stay as they are: the schema says what is wrong with them. */
function replaced(
  value: unknown,
  path: readonly string[],
  form: ClusterForm,
  texts: Texts,
  at: string,
): unknown {
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
function readForm(value: unknown, form: ClusterForm, texts: Texts, at: string): unknown {
  const names = alternatives(form);
  if (!isRecord(value)) throw new Unusable(`${at}: expected a map with ${names.join(', ')}`);
  const refused = form.without.find((name) => value[name] !== undefined);
  if (refused !== undefined) throw new Unusable(`${at}.${refused}: is not for the cluster`);
  if (names.filter((name) => value[name] !== undefined).length !== 1)
    throw new Unusable(`${at}: expected ${names.length === 1 ? '' : 'exactly one of '}${names.join(', ')}`);
  try {
    return read(value, form, texts);
  } catch (error) {
    throw error instanceof Unusable ? new Unusable(`${at}: ${error.message}`) : error;
  }
}

function read(fields: Readonly<Record<string, unknown>>, form: ClusterForm, texts: Texts): unknown {
  const { from, as } = form;
  const { [from.field]: named, ...others } = fields;
  if (named === undefined) return as === undefined ? textOf(fields, alternatives(form)) : fields;
  const text = textNamed(textOf(fields, [from.field]), from, texts);
  return as === undefined ? text : { ...others, [as]: text };
}

function textNamed(name: string, from: ClusterForm['from'], texts: Texts): string {
  if (from.field === 'configMap') return texts.configMap(name, from.entry);
  const text = texts.secret(name, from.entry);
  // The line break that editors end a file with is no part of a key.
  return from.entry === '.htpasswd' ? text : text.replace(/\r?\n$/, '');
}

/** The text of the field that stands there. */
function textOf(fields: Readonly<Record<string, unknown>>, names: readonly string[]): string {
  const name = names.find((one) => fields[one] !== undefined) ?? '';
  const value = fields[name];
  if (typeof value === 'string' && value !== '') return value;
  throw new Unusable(`${name}: expected a text`);
}
