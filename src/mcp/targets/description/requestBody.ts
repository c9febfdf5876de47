import type { ApiBody, ApiPart, BodyForm, ParameterStyle, ValueForm } from '../../../model/index.ts';
import { DescriptionError, isObject, type JsonObject } from './descriptionText.ts';
import { namesMembers, objectMembers } from './describedMembers.ts';
import type { References } from './references.ts';
import { isBytes } from './schemaWriter.ts';

/** The forms of bodies, the best first; each has the media types that its expression names. */
const forms: readonly (readonly [form: BodyForm, types: RegExp])[] = [
  ['json', /^application\/(?:[^;\s]+\+)?json\s*(?:;|$)|^\*\/\*$|^application\/\*$/i],
  ['form', /^application\/x-www-form-urlencoded\s*(?:;|$)/i],
  ['multipart', /^multipart\/form-data\s*(?:;|$)/i],
  ['text', /^text\/|^application\/(?:[^;\s]+\+)?(?:xml|yaml)\s*(?:;|$)|^application\/graphql\s*(?:;|$)/i],
  ['bytes', /^/],
];

/** A body with the schema of its value, as the description has it. */
export interface ReadBody {
  readonly body: ApiBody;
  readonly schema: unknown;
  readonly description: string | undefined;
}

/**
 * The body of a request, in the best of its forms.
 * @throws DescriptionError
 */
export function readBody(given: unknown, references: References): ReadBody | undefined {
  if (given === undefined) return undefined;
  const { content, required, description } = references.follow(given, 'the request body');
  if (!isObject(content)) throw new DescriptionError('the request body has no `content`');
  const [found] = Object.entries(content)
    .map(([type, media], index) => ({ type, media, index, rank: rankOf(type) }))
    .toSorted((one, other) => one.rank - other.rank || one.index - other.index);
  if (found === undefined) return undefined;
  if (!isObject(found.media)) throw new DescriptionError(`the request body ${found.type} is no object`);
  const [form] = forms[found.rank]!;
  const { schema, encoding } = found.media;
  const isForm = form === 'form' || form === 'multipart';
  const parts = isForm ? partsOf(form, schema, encoding, references) : {};
  const hasMembers = Object.values(parts).some(({ value }) => value?.members !== undefined);
  return {
    schema: isForm || schema !== undefined ? schema : defaultSchema(form),
    description: typeof description === 'string' && description !== '' ? description : undefined,
    body: {
      form,
      type: typeOf(form, found.type),
      required: required === true,
      ...(Object.keys(parts).length === 0 ? {} : { parts }),
      ...(hasMembers ? { names: objectMembers(schema, references)?.names ?? [] } : {}),
    },
  };
}

const rankOf = (type: string): number => forms.findIndex(([, types]) => types.test(type.trim()));

/** A range such as `image/*` is no type that a request can name. */
function typeOf(form: BodyForm, type: string): string {
  if (!/^[!#$%&'+.^_`|~0-9A-Za-z-]+\/[!#$%&'+.^_`|~0-9A-Za-z-]+(?:\s*;[\x20-\x7e]*)?$/.test(type.trim()))
    return form === 'json' ? 'application/json' : form === 'text' ? 'text/plain' : 'application/octet-stream';
  return type.trim();
}

function defaultSchema(form: BodyForm): unknown {
  if (form === 'text') return { type: 'string' };
  return form === 'bytes' ? { type: 'string', format: 'binary' } : undefined;
}

/** The properties of a form that are not written in the usual way. */
function partsOf(
  form: 'form' | 'multipart',
  schema: unknown,
  encoding: unknown,
  references: References,
): Readonly<Record<string, ApiPart>> {
  const given = isObject(encoding) ? encoding : {};
  const properties = propertiesOf(schema, references);
  const names = new Set([...Object.keys(properties), ...Object.keys(given)]);
  const parts = [...names].flatMap((name): [string, ApiPart][] => {
    const one = given[name];
    const part = partOf(name, form, properties[name], isObject(one) ? one : {}, references);
    return Object.keys(part).length === 0 ? [] : [[name, part]];
  });
  return Object.fromEntries(parts);
}

function partOf(
  name: string,
  form: 'form' | 'multipart',
  schema: unknown,
  encoding: JsonObject,
  references: References,
): ApiPart {
  const type = partType(encoding['contentType']);
  const required = Object.entries(isObject(encoding['headers']) ? encoding['headers'] : {}).filter(
    ([header, one]) =>
      header.toLowerCase() !== 'content-type' &&
      references.follow(one, `the header ${header}`)['required'] === true,
  );
  if (required.length > 0)
    throw new DescriptionError(
      `the part ${name} of the request body has a required header, which is not supported`,
    );
  const value = partValue(name, encoding, schema, references);
  const bytes =
    form === 'multipart' && (holdsBytes(schema, references) || (isBare(schema) && isBinaryType(type)));
  return {
    ...(type === undefined || form === 'form' ? {} : { type }),
    ...(bytes ? { bytes: true } : {}),
    ...(value === undefined ? {} : { value }),
  };
}

function partValue(
  name: string,
  { style, explode, allowReserved }: JsonObject,
  schema: unknown,
  references: References,
): ValueForm | undefined {
  if (style === undefined && explode === undefined && allowReserved === undefined) return undefined;
  const known: readonly unknown[] = ['form', 'spaceDelimited', 'pipeDelimited', 'deepObject'];
  const chosen = style ?? 'form';
  if (!known.includes(chosen))
    throw new DescriptionError(`the part ${name} of the request body has the style ${JSON.stringify(style)}`);
  const form = {
    style: chosen as ParameterStyle,
    explode: typeof explode === 'boolean' ? explode : chosen === 'form',
  };
  const members = namesMembers(form) ? objectMembers(schema, references) : undefined;
  return {
    ...form,
    ...(members === undefined ? {} : { members }),
    ...(allowReserved === true ? { allowReserved: true } : {}),
  };
}

/** The first type of a list that is no range. */
function partType(given: unknown): string | undefined {
  if (typeof given !== 'string') return undefined;
  return given
    .split(',')
    .map((type) => type.trim())
    .find((type) =>
      /^[!#$%&'+.^_`|~0-9A-Za-z-]+\/[!#$%&'+.^_`|~0-9A-Za-z-]+(?:\s*;[\x20-\x7e]*)?$/.test(type),
    );
}

const isBinaryType = (type: string | undefined): boolean =>
  type !== undefined && !/^text\/|[/+](?:json|xml)\b/i.test(type);

const isBare = (schema: unknown): boolean => isObject(schema) && Object.keys(schema).length === 0;

/** Does the schema stand for bytes, or for a list of them? */
function holdsBytes(schema: unknown, references: References): boolean {
  if (!isObject(schema)) return false;
  const { $ref: ref } = schema;
  const one = ref === undefined ? schema : references.follow(schema, 'a schema');
  return isBytes(one) || (one['type'] === 'array' && isBytes(one['items']));
}

/** The properties of an object schema, those of its `allOf` included. @param seen schemas that may be recursive */
function propertiesOf(schema: unknown, references: References, seen = new Set<unknown>()): JsonObject {
  if (!isObject(schema)) return {};
  const one = references.follow(schema, 'a schema');
  if (seen.has(one)) return {};
  seen.add(one);
  const all: readonly unknown[] = Array.isArray(one['allOf']) ? one['allOf'] : [];
  const inherited = all.flatMap((part) => Object.entries(propertiesOf(part, references, seen)));
  const own = isObject(one['properties']) ? Object.entries(one['properties']) : [];
  return Object.fromEntries([...inherited, ...own]);
}
