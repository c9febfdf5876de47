/**
 * The keywords of JSON Schema (2020-12) that tools keep. Clients compile the schemas of tools, and one broken keyword
 * fails the whole list in some of them: a keyword whose value has another form is left out.
 */

import { isObject } from './descriptionText.ts';

/** The parts of a schema that are schemas. */
export type Nesting = 'schema' | 'list' | 'map';

export const nested: ReadonlyMap<string, Nesting> = new Map<string, Nesting>([
  ['additionalProperties', 'schema'],
  ['contains', 'schema'],
  ['contentSchema', 'schema'],
  ['else', 'schema'],
  ['if', 'schema'],
  ['items', 'schema'],
  ['not', 'schema'],
  ['propertyNames', 'schema'],
  ['then', 'schema'],
  ['unevaluatedItems', 'schema'],
  ['unevaluatedProperties', 'schema'],
  ['allOf', 'list'],
  ['anyOf', 'list'],
  ['oneOf', 'list'],
  ['prefixItems', 'list'],
  ['dependentSchemas', 'map'],
  ['patternProperties', 'map'],
  ['properties', 'map'],
]);

type Check = (value: unknown) => boolean;

const isText: Check = (value) => typeof value === 'string';
const isNumber: Check = (value) => typeof value === 'number' && Number.isFinite(value);
const isCount: Check = (value) => Number.isInteger(value) && (value as number) >= 0;
const isFlag: Check = (value) => typeof value === 'boolean';
const isList: Check = (value) => Array.isArray(value) && value.length > 0;
const isTexts: Check = (value) => Array.isArray(value) && value.every(isText);
const isAnything: Check = () => true;

const types: ReadonlySet<unknown> = new Set([
  'array',
  'boolean',
  'integer',
  'null',
  'number',
  'object',
  'string',
]);

/** Is it what JSON Schema allows as `type`: one type, or a list of some? */
export const isType: Check = (value) =>
  types.has(value) || (Array.isArray(value) && value.length > 0 && value.every((one) => types.has(one)));

/** Is it a regular expression for the clients, most of which read it as ECMAScript does? */
export const isPattern: Check = (value) => {
  if (typeof value !== 'string') return false;
  try {
    return new RegExp(value, 'u').source !== '';
  } catch {
    return false;
  }
};

/** Keyword → the form of its value. */
export const plain: ReadonlyMap<string, Check> = new Map<string, Check>([
  ['const', isAnything],
  ['contentEncoding', isText],
  ['contentMediaType', isText],
  ['default', isAnything],
  ['dependentRequired', (value) => isObject(value) && Object.values(value).every(isTexts)],
  ['deprecated', isFlag],
  ['description', isText],
  ['enum', isList],
  ['examples', isList],
  ['exclusiveMaximum', isNumber],
  ['exclusiveMinimum', isNumber],
  ['format', isText],
  ['maxContains', isCount],
  ['maxItems', isCount],
  ['maxLength', isCount],
  ['maxProperties', isCount],
  ['maximum', isNumber],
  ['minContains', isCount],
  ['minItems', isCount],
  ['minLength', isCount],
  ['minProperties', isCount],
  ['minimum', isNumber],
  ['multipleOf', (value) => isNumber(value) && (value as number) > 0],
  ['pattern', isPattern],
  ['required', isTexts],
  ['title', isText],
  ['type', isType],
  ['uniqueItems', isFlag],
]);
