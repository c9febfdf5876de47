/**
 * The names that a server may read out of one text. The gateway forwards a name as the client wrote it, but servers
 * normalise names: the TypeScript SDKs put every URI through `new URL()`, Python servers through pydantic. A rule that
 * looked at the text alone would judge another item than the one that is served.
 */

import type { McpItem } from '../contract.ts';

/** More readings than this make a name that no honest client sends. */
const maxReadings = 32;
/** Each reading costs time in proportion to its length. */
const maxLength = 8_192;
/** Characters of all readings of a name. */
const maxTogether = 65_536;

/** A text in another reading; undefined where there is none. */
type Step = (text: string) => string | undefined;

/** Printable ASCII without spaces has one reading as a name. */
const plainName = /^[\x21-\x7e]{1,8192}$/;
/** A URI in normal form, of a scheme that the WHATWG standard has no rules of its own for. */
const plainUri =
  /^(?!(?:https?|wss?|ftp|file):)[a-z][a-z0-9+.-]*:\/\/[a-z0-9_-]{1,256}(?:\/[\w~-][\w.~-]{0,512}){0,64}\/?$/;

/** White space and control characters of ASCII, Latin-1 and Unicode. */
const blank = /[\0-\x20\x7f-\xa0\s]/;

function trimmed(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && blank.test(text[start]!)) start++;
  while (end > start && blank.test(text[end - 1]!)) end--;
  return text.slice(start, end);
}

/** WHATWG URL §4.4: tabs and line breaks are removed wherever they stand. */
const unbroken: Step = (text) => trimmed(text.replaceAll(/[\t\n\r]/g, ''));
const composed: Step = (text) => wellFormed(text).normalize('NFC');
const compatible: Step = (text) => wellFormed(text).normalize('NFKC');
const wellFormed = (text: string): string => text.toWellFormed();
const whatwg: Step = (text) => URL.parse(text)?.href;

/** Parts of a URI (RFC 3986, appendix B), the fragment left out: it is no part of what is asked for (§6.1). */
const uriParts = /^([a-z][a-z0-9+.-]*):(?:\/\/([^/?#]*))?([^?#]*)(\?[^#]*)?/is;

/** The same where a query and a fragment are parts of the path. */
const uriWithLongPath = /^([a-z][a-z0-9+.-]*):(?:\/\/([^/?#]*))?(.*)/is;

function rewriteParts(text: string, path: (path: string) => string, form = uriParts): string | undefined {
  const parts = form.exec(text);
  if (parts === null) return undefined;
  const [, scheme = '', authority, before = '', query = ''] = parts;
  const place = authority === undefined ? '' : `//${normalAuthority(authority)}`;
  return `${scheme.toLowerCase()}:${place}${path(before)}${decodeUnreserved(query)}`;
}

/** RFC 3986 §6.2.2: the case of scheme, host and escapes, escapes without need, dot segments. */
const rfc3986: Step = (text) => rewriteParts(text, (path) => withoutDots(decodeUnreserved(path)));

/** Servers that decode a path and hand it to a file system: escaped separators separate, and repeated ones are one. */
const decoded: Step = (text) => rewriteParts(text, pathOfFile);

function pathOfFile(written: string): string {
  const path = decodeUnreserved(
    written.replaceAll(/%(?:25){1,8}(?=2e|2f|5c|[3-7][0-9a-f])/gi, '%').replaceAll(/%2f|%5c|\\/gi, '/'),
  );
  // `proxy://fetch/https://host` holds a URI, which is another one with a slash less.
  const merged = /(?:^|\/)\.\.?(?:\/|$)/.test(path)
    ? path.replaceAll(/\/{2,}/g, '/')
    : path.replaceAll(/(?<![:/])\/{2,}/g, '/');
  return withoutDots(merged);
}

/** A template such as `files:///{+path}` takes a query and a fragment into its value, which may climb out of them. */
const climbing: Step = (text) => {
  const mark = text.search(/[?#]/);
  if (mark < 0 || !text.slice(mark).split(/[/\\]/).includes('..')) return undefined;
  return rewriteParts(text, pathOfFile, uriWithLongPath);
};

/** Servers find the names of files without a query: a URI of a file has none (RFC 8089 §2). */
const withoutQuery: Step = (text) => (/^file:/i.test(text) ? text.replace(/\?.*/s, '') : undefined);

/** Servers decode the values that a template cuts out of a URI, as Python does: a broken sequence of UTF-8 is U+FFFD. */
const unescaped: Step = (text) =>
  text.replaceAll(/(?:%[0-9a-f]{2})+/gi, (run) => Buffer.from(run.replaceAll('%', ''), 'hex').toString());

function normalAuthority(authority: string): string {
  const at = authority.lastIndexOf('@');
  const host = decodeUnreserved(authority.slice(at + 1)).toLowerCase();
  return authority.slice(0, at + 1) + host.replace(/:$/, '');
}

const unreserved = /[\w.~-]/;

function decodeUnreserved(text: string): string {
  if (!text.includes('%')) return text;
  return text.replaceAll(/%[0-9a-f]{2}/gi, (escape) => {
    const char = String.fromCharCode(Number.parseInt(escape.slice(1), 16));
    return unreserved.test(char) ? char : escape.toUpperCase();
  });
}

/** RFC 3986 §5.2.4. */
function withoutDots(path: string): string {
  if (!path.includes('.')) return path;
  const segments = path.split('/');
  const kept: string[] = [];
  for (const segment of segments) {
    if (segment === '..') {
      if (kept.length > 1 || (kept.length === 1 && kept[0] !== '')) kept.pop();
    } else if (segment !== '.') kept.push(segment);
  }
  const last = segments.at(-1);
  if (last === '.' || last === '..') kept.push('');
  const normal = kept.join('/');
  return path.startsWith('/') && !normal.startsWith('/') ? `/${normal}` : normal;
}

const nameSteps: readonly Step[] = [trimmed, composed, compatible];
const uriSteps: readonly Step[] = [
  unbroken,
  whatwg,
  rfc3986,
  decoded,
  climbing,
  withoutQuery,
  unescaped,
  composed,
  compatible,
];

/** Readings of readings are readings too: a server may normalise more than once. */
function closure(text: string, steps: readonly Step[]): readonly string[] | undefined {
  if (text.length > maxLength) return undefined;
  const found = [text];
  let together = text.length;
  for (let i = 0; i < found.length; i++)
    for (const step of steps) {
      const reading = step(found[i]!);
      if (reading === undefined || found.includes(reading)) continue;
      together += reading.length;
      if (found.length === maxReadings || together > maxTogether) return undefined;
      found.push(reading);
    }
  return found;
}

/** Every reading of the name of a tool or prompt, as written first; undefined where there are too many to judge. */
export function readingsOfName(name: string): readonly string[] | undefined {
  return plainName.test(name) ? [name] : closure(name, nameSteps);
}

/** The same for the URI of a resource. */
export function readingsOfUri(uri: string): readonly string[] | undefined {
  return plainUri.test(uri) ? [uri] : closure(uri, uriSteps);
}

/** The same for a template of URIs (RFC 6570), whose expressions stay as they are. */
export function readingsOfTemplate(template: string): readonly string[] | undefined {
  if (!template.includes('{')) return readingsOfUri(template);
  if (template.length > maxLength) return undefined;
  const expressions: string[] = [];
  // Letters that stand nowhere in the template take the places of its expressions.
  const longest = Math.max(0, ...(template.match(/x+/gi) ?? []).map((run) => run.length));
  const mark = 'x'.repeat(longest + 1);
  const masked = template.replaceAll(/\{[^{}]*\}/g, (expression) => {
    expressions.push(expression);
    return `${mark}${expressions.length - 1}z`;
  });
  const marks = new RegExp(`${mark}(\\d+)z`, 'g');
  return closure(masked, uriSteps)?.map((reading) =>
    reading.replaceAll(marks, (_, index: string) => expressions[Number(index)] ?? ''),
  );
}

/** Operators of RFC 6570 §2.2 and what they put before a value, and between two. */
const operators: Readonly<Record<string, readonly [first: string, between: string, named: boolean]>> = {
  '': ['', ',', false],
  '+': ['', ',', false],
  '#': ['#', ',', false],
  '.': ['.', '.', false],
  '/': ['/', '/', false],
  ';': [';', ';', true],
  '?': ['?', '&', true],
  '&': ['&', '&', true],
};

/**
 * The template with the values that are known put in; expressions with an unknown variable stay. Undefined where the
 * outcome is too long to judge: a short template can hold a long value many times.
 */
export function expandTemplate(template: string, values: ReadonlyMap<string, string>): string | undefined {
  if (template.length > maxLength) return undefined;
  let length = 0;
  const expanded = template.replaceAll(
    /\{([+#./;?&]?)([^{}]*)\}/g,
    (expression, operator: string, list: string) => {
      const names = list.split(',').map((name) => name.trim().replace(/\*$|:\d+$/, ''));
      const [first, between, named] = operators[operator]!;
      const texts: string[] = [];
      for (const name of names) {
        const value = values.get(name);
        if (value === undefined) return expression;
        length += value.length;
        if (length > maxLength) return expression;
        const plain = value.replaceAll(/[{}]/g, (brace) => (brace === '{' ? '%7B' : '%7D'));
        texts.push(named ? `${name}=${plain}` : plain);
      }
      return first + texts.join(between);
    },
  );
  return length > maxLength ? undefined : expanded;
}

/** Every reading of the name of an item; undefined where there are too many to judge. */
export const readingsOf = (
  kind: McpItem['kind'],
  name: string,
  template = false,
): readonly string[] | undefined =>
  (kind !== 'resource' ? readingsOfName : template ? readingsOfTemplate : readingsOfUri)(name);
