import type { ValueForm } from '../../../model/index.ts';
import { ArgumentError } from './callArguments.ts';
import { isNested } from './longNumber.ts';

/** The parts of a value: one text, a list, or names with texts. */
type Parts =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'list'; readonly items: readonly string[] }
  | { readonly kind: 'map'; readonly entries: readonly (readonly [string, string])[] };

type Encode = (text: string) => string;

/** A name and a value of a query or a form, both encoded. */
export type Pair = readonly [name: string, value: string];

export const isGiven = (value: unknown): boolean => value !== undefined && value !== null;

/** @throws ArgumentError for a text that no encoding can carry */
export const percentEncoded: Encode = (text) => {
  if (!text.isWellFormed()) throw new ArgumentError('a text holds half of a character');
  return encodeURIComponent(text);
};

/** Leaves reserved characters as they are (RFC 3986 §2.2), except for those that would begin something else. */
const reservedEncoded: Encode = (text) =>
  percentEncoded(text)
    .replaceAll(/%(?:3A|2F|3F|40|21|24|27|28|29|2A|2C|3B|3D)/g, decodeURIComponent)
    // Encoded characters of the value stay as they are.
    .replaceAll(/%25([0-9a-f]{2})/gi, '%$1');

export const encoderOf = ({ allowReserved }: ValueForm): Encode =>
  allowReserved === true ? reservedEncoded : percentEncoded;

/** The text of a single value; lists and objects within others are written as JSON. */
export const textOf = (value: unknown): string =>
  typeof value === 'string' ? value : JSON.stringify(value ?? null);

function partsOf(value: unknown): Parts {
  if (Array.isArray(value)) return { kind: 'list', items: value.map(textOf) };
  if (isNested(value))
    return { kind: 'map', entries: Object.entries(value).map(([name, one]) => [name, textOf(one)]) };
  return { kind: 'text', text: textOf(value) };
}

/** A value of a path or a header, in the style `simple` (OpenAPI, "Style Values"). */
export function simpleText(value: unknown, explode: boolean, encode: Encode): string {
  const parts = partsOf(value);
  if (parts.kind === 'text') return encode(parts.text);
  if (parts.kind === 'list') return parts.items.map(encode).join(',');
  return parts.entries
    .map(([name, text]) => `${encode(name)}${explode ? '=' : ','}${encode(text)}`)
    .join(',');
}

/** A value of a path in the style `label`: with a dot before it (RFC 6570 §3.2.5). */
export function labelText(value: unknown, explode: boolean, encode: Encode): string {
  if (!explode) return `.${simpleText(value, false, encode)}`;
  const parts = partsOf(value);
  if (parts.kind === 'text') return `.${encode(parts.text)}`;
  if (parts.kind === 'list') return parts.items.map((item) => `.${encode(item)}`).join('');
  return parts.entries.map(([name, text]) => `.${encode(name)}=${encode(text)}`).join('');
}

/** A value of a path in the style `matrix`: as parameters behind semicolons (RFC 6570 §3.2.7). */
export function matrixText(name: string, value: unknown, explode: boolean, encode: Encode): string {
  const parts = partsOf(value);
  const pair = (key: string, text: string): string => `;${encode(key)}${text === '' ? '' : `=${text}`}`;
  if (!explode || parts.kind === 'text') return pair(name, simpleText(value, false, encode));
  if (parts.kind === 'list') return parts.items.map((item) => pair(name, encode(item))).join('');
  return parts.entries.map(([key, text]) => pair(key, encode(text))).join('');
}

const separators: Readonly<Partial<Record<ValueForm['style'], string>>> = {
  form: ',',
  spaceDelimited: '%20',
  pipeDelimited: '%7C',
};

/** A value of a query, a cookie or a form, as pairs. */
export function pairsOf(name: string, value: unknown, form: ValueForm): readonly Pair[] {
  const encode = encoderOf(form);
  const key = percentEncoded(name);
  if (form.style === 'json') return [[key, percentEncoded(JSON.stringify(value))]];
  if (form.style === 'deepObject') return deepPairs(name, value, encode);
  const parts = partsOf(value);
  if (parts.kind === 'text') return [[key, encode(parts.text)]];
  if (parts.kind === 'list') {
    if (form.explode) return parts.items.map((item): Pair => [key, encode(item)]);
    // An empty list is no value (RFC 6570 §3.2.1).
    const separator = separators[form.style] ?? ',';
    return parts.items.length === 0 ? [] : [[key, parts.items.map(encode).join(separator)]];
  }
  if (form.explode && form.style === 'form')
    return parts.entries.map(([own, text]): Pair => [percentEncoded(own), encode(text)]);
  const separator = separators[form.style] ?? ',';
  const flat = parts.entries.flatMap(([own, text]) => [encode(own), encode(text)]);
  return flat.length === 0 ? [] : [[key, flat.join(separator)]];
}

/**
 * `name[a]=1&name[b][c]=2`; a list repeats its name.
 * @throws ArgumentError for a member that would be read as another one
 */
function deepPairs(name: string, value: unknown, encode: Encode): readonly Pair[] {
  if (Array.isArray(value))
    return value.flatMap((one: unknown) =>
      isNested(one) ? deepPairs(name, one, encode) : [[percentEncoded(name), encode(textOf(one))] as const],
    );
  if (!isNested(value)) return [[percentEncoded(name), encode(textOf(value))]];
  return Object.entries(value).flatMap(([key, one]) => {
    if (/[[\]]/.test(key))
      throw new ArgumentError(`${name}: the member ${JSON.stringify(key)} has a bracket in its name`);
    return isGiven(one) ? deepPairs(`${name}[${key}]`, one, encode) : [];
  });
}
