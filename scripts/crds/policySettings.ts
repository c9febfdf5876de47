import { z } from 'zod';
import { crdRules, isDuration } from '../../src/schema/index.ts';
import { factsOf, oneOf as exactlyOne, type ClusterForm } from '../../src/policies/facts.ts';
import {
  isFileField,
  isServerPlace,
  serverHost,
  serverHostRule,
} from '../../src/controller/translate/calledServers.ts';
import { alternatives } from '../../src/controller/translate/policyForms.ts';
import {
  connectionNames,
  keySetUrl,
  keySetUrlRule,
  requestPolicies,
  schemaOf,
} from '../../src/controller/translate/policyKinds.ts';
import { durationForm } from './durationForm.ts';
import { settingsRules } from './settingsRules.ts';

/** A JSON Schema, as zod writes it. */
type Schema = Readonly<Record<string, unknown>>;

const isSchema = (value: unknown): value is Schema =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Marks a length of time on its way from the schema of the policy to the CRD. */
const durationMark = 'x-duration';

/** Keywords that say nothing to the API server, or should be said in one place only: defaults are the controller's. */
const dropped: ReadonlySet<string> = new Set([
  'default',
  'definitions',
  'id',
  'examples',
  'additionalProperties',
  durationMark,
]);

/** The schemas of all policies, as a CRD can say them. */
export const policyProperties = (): Readonly<Record<string, Schema>> =>
  Object.fromEntries(
    [...requestPolicies, ...connectionNames].map((name) => {
      const schema = z.toJSONSchema(schemaOf(name) as z.ZodType, {
        target: 'openapi-3.0',
        io: 'input',
        override: ({ zodSchema, jsonSchema }) => {
          if (isDuration(zodSchema)) jsonSchema[durationMark] = true;
        },
      });
      return [name, simplified(schema, [name])];
    }),
  );

/** @param path from the name of the policy, with `*` for the entries of a list */
function simplified(given: Schema, path: readonly string[]): Schema {
  const schema = branch(given, path);
  if (schema['$ref'] !== undefined) return {};
  const result: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(schema)) if (!dropped.has(key)) result[key] = value;
  if (result['minimum'] === -Number.MAX_SAFE_INTEGER) delete result['minimum'];
  const { properties, items, additionalProperties } = schema;
  if (isSchema(properties)) {
    const known = Object.entries(properties).filter(
      ([name, value]) =>
        !refused(value as Schema) && !isForFiles(path, name) && !isEmpty(value as Schema, [...path, name]),
    );
    result['properties'] = Object.fromEntries(
      known.map(([name, value]) => [name, simplified(value as Schema, [...path, name])]),
    );
  }
  if (isSchema(items)) result['items'] = simplified(items, [...path, '*']);
  // A schema here stands for any text of JSON.
  if (isSchema(additionalProperties))
    result['additionalProperties'] = simplified(additionalProperties, [...path, '*']);
  const form = formAt(path);
  const formed = form === undefined ? withServer(result, path) : inForm(result, form);
  if (schema[durationMark] === true) Object.assign(formed, durationForm);
  return { ...formed, ...settingsRules(path, formed) };
}

/** Fields that are known and refused. */
const refused = (schema: Schema): boolean => schema['not'] !== undefined;

/** All fields below are for files only. */
const isEmpty = ({ properties }: Schema, path: readonly string[]): boolean =>
  isSchema(properties) &&
  Object.keys(properties).length > 0 &&
  Object.entries(properties).every(([name, value]) => refused(value as Schema) || isForFiles(path, name));

/** A field that only a file may have. */
const isForFiles = ([policy = '', ...path]: readonly string[], name: string): boolean =>
  (path.length === 0 && factsOf(policy)?.notInCluster?.includes(name) === true) ||
  isFileField(policy, [...path, name]);

/** The host of a server that the proxies call. */
function withServer(schema: Record<string, unknown>, [policy = '', ...path]: readonly string[]) {
  const { properties, required = [] } = schema;
  if (!isServerPlace(policy, path) || !isSchema(properties)) return schema;
  const host = {
    ...(properties['host'] as Schema),
    description: 'The server: https://NAME, or a Service as NAME.NAMESPACE.svc:PORT.',
    maxLength: 512,
    ...crdRules({ rule: `self.matches(r'${serverHost.source}')`, message: serverHostRule }),
  };
  return { ...schema, properties: { ...properties, host }, required: ['host', ...(required as string[])] };
}

const formAt = ([policy = '', ...path]: readonly string[]): ClusterForm | undefined =>
  factsOf(policy)?.clusterForms?.find((form) => form.path === path.join('.'));

/** The branch, among several forms, that types can express: a list before a map, a map before a text. */
function branch(schema: Schema, path: readonly string[]): Schema {
  const { anyOf, ...others } = schema;
  if (!Array.isArray(anyOf)) return schema;
  const branches = (anyOf as readonly unknown[]).filter(isSchema);
  const types = branches.map(({ type }) => type);
  // The one union that CRDs know.
  if (types.join() === 'integer,string') return schema;
  // Two forms of one text: the controller tells them apart.
  if (types.every((type) => type === 'string')) return { type: 'string', ...others };
  const chosen =
    branches.find(({ type }) => type === 'array') ?? merged(branches.filter(({ type }) => type === 'object'));
  if (chosen === undefined) throw new Error(`${path.join('.')}: none of the branches can be said in a CRD`);
  return { ...chosen, ...others };
}

/** One map with the fields of several. `settingsRules` says which of the fields go together. */
function merged([first, ...more]: readonly Schema[]): Schema | undefined {
  if (first === undefined || more.length === 0) return first;
  const fields = [first, ...more].flatMap(({ properties }) =>
    isSchema(properties) ? Object.entries(properties) : [],
  );
  const built = fields.filter(([, value]) => isSchema(value) && !refused(value));
  return { ...withoutRequired(first), properties: Object.fromEntries(built) };
}

/** Fields that the file requires may stand elsewhere. */
const withoutRequired = ({ required: _, ...others }: Schema): Schema => others;

/** The file has a text there. */
const mapFor = ({ description }: Schema): Schema => ({ type: 'object', description });

function inForm(schema: Schema, form: ClusterForm): Record<string, unknown> {
  const properties = { ...(schema['properties'] as Record<string, Schema>) };
  for (const name of form.without) delete properties[name];
  for (const [name, description] of Object.entries({ ...form.or, [form.from.field]: form.description }))
    if (description !== undefined)
      properties[name] = {
        type: 'string',
        minLength: 1,
        maxLength: name === 'inline' ? 262_144 : 253,
        description,
      };
  if (properties['url'] !== undefined)
    properties['url'] = {
      ...properties['url'],
      maxLength: 2_048,
      ...crdRules({ rule: `self.matches(r'${keySetUrl.source}')`, message: keySetUrlRule }),
    };
  const oneOf = alternatives(form);
  const [first = '', ...more] = oneOf;
  const map = schema['type'] === 'object' ? withoutRequired(schema) : mapFor(schema);
  return {
    ...map,
    // Nothing but the name of the object stands there.
    ...(Object.keys(properties).length === 1 ? { description: form.description } : {}),
    properties,
    ...(more.length === 0 ? { required: [first] } : crdRules(exactlyOne(...oneOf))),
  };
}
