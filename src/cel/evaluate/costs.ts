import { isCelList, isCelMap } from '@bufbuild/cel';
import { charge, limits } from '../limits.ts';

/**
 * The cost of calling a function, in units of about 10 ns, before it is made. `library.ts` adds what every call costs.
 * Functions of `functions/text.ts` take the rest themselves, as they go.
 */
export type Cost = (target: unknown, args: readonly unknown[]) => number;

const nothing: Cost = () => 0;
const fixed =
  (units: number): Cost =>
  () =>
    units;

/** So many units for each character or byte of the texts it is given. */
const perCharacter =
  (units: number, base = 0): Cost =>
  (target, args) => {
    let length = lengthOf(target);
    for (const arg of args) length += lengthOf(arg);
    return base + Math.ceil(length * units);
  };

/** So many units for each part of the values, however deep. */
const perPart =
  (units: number): Cost =>
  (target, args) =>
    units * (sizeOf(target) + args.reduce((sum: number, arg) => sum + sizeOf(arg), 0));

/** The cost of the elements of a list or map, without their contents. */
const perElement =
  (units: number, base = 0): Cost =>
  (target, args) =>
    base + units * (countOf(target) + args.reduce((sum: number, arg) => sum + countOf(arg), 0));

/** Looks each name up in the system's lists. */
const addressCheck = perCharacter(1, 1500);
/** Names of time zones are looked up, and a calendar is made. */
const time: Cost = (_, args) => (args.length === 0 ? 200 : 20_000);

const table: Readonly<Record<string, Cost>> = {
  '_+_': perElement(5, 40),
  '_-_': fixed(40),
  '_*_': fixed(40),
  '_/_': fixed(40),
  '_%_': fixed(40),
  '-_': nothing,
  '!_': nothing,
  '_==_': perPart(4),
  '_!=_': perPart(4),
  '_<_': perCharacter(0.5),
  '_<=_': perCharacter(0.5),
  '_>_': perCharacter(0.5),
  '_>=_': perCharacter(0.5),
  '@in': perPart(4),
  '@work': nothing,

  // Numbers of many digits take more than linear time.
  int: (_, [value]) => digits(lengthOf(value)),
  uint: (_, [value]) => digits(lengthOf(value)),
  double: perCharacter(1, 20),
  bool: perCharacter(0.1),
  bytes: perCharacter(0.5, 20),
  string: perCharacter(0.5, 200),
  timestamp: perCharacter(1, 500),
  duration: perCharacter(1, 800),
  type: nothing,
  dyn: nothing,
  // Characters are counted, not the units of the text.
  size: (target, args) => charactersOf(target) + charactersOf(args[0]),

  getSeconds: time,
  getMinutes: time,
  getHours: time,
  getMilliseconds: time,
  getFullYear: time,
  getMonth: time,
  getDate: time,
  getDayOfMonth: time,
  getDayOfWeek: time,
  getDayOfYear: time,

  contains: nothing,
  startsWith: perCharacter(0.3),
  endsWith: perCharacter(0.3),
  matches: nothing,
  regexReplace: nothing,
  indexOf: nothing,
  lastIndexOf: nothing,
  lowerAscii: nothing,
  upperAscii: nothing,
  replace: nothing,
  split: nothing,
  join: nothing,
  'strings.quote': perCharacter(8),
  charAt: nothing,
  substring: nothing,
  trim: perCharacter(2),
  format: (target, args) => formatUnits(String(target)) + 8 * sizeOf(args[0]),
  stripPrefix: perCharacter(0.3),
  stripSuffix: perCharacter(0.3),

  json: perCharacter(12, 200),
  toJson: perPart(12),
  unvalidatedJwtPayload: perCharacter(12, 500),
  'base64.encode': perCharacter(0.5, 50),
  'base64.decode': perCharacter(1, 200),
  'url.encode': perCharacter(8, 50),
  'url.decode': perCharacter(2, 50),
  'form.decode': perCharacter(20, 100),
  'form.encode': perPart(60),
  'sha1.encode': perCharacter(1, 400),
  'sha256.encode': perCharacter(1, 400),
  'md5.encode': perCharacter(1, 400),
  random: nothing,
  uuid: fixed(50),

  isIP: perCharacter(1, 50),
  ip: perCharacter(1, 500),
  family: perCharacter(1, 500),
  isUnspecified: addressCheck,
  isLoopback: addressCheck,
  isLinkLocalMulticast: addressCheck,
  isLinkLocalUnicast: addressCheck,
  isGlobalUnicast: addressCheck,
  cidr: perCharacter(1, 800),
  masked: perCharacter(1, 1500),
  prefixLength: perCharacter(1, 800),
  containsIP: addressCheck,
  containsCIDR: addressCheck,

  'math.ceil': nothing,
  'math.floor': nothing,
  'math.trunc': nothing,
  'math.round': nothing,
  'math.isNaN': nothing,
  'math.isFinite': nothing,
  'math.isInf': nothing,
  'math.abs': nothing,
  'math.sign': nothing,
  'math.sqrt': nothing,
  'math.bitAnd': nothing,
  'math.bitOr': nothing,
  'math.bitXor': nothing,
  'math.bitNot': nothing,
  'math.bitShiftLeft': nothing,
  'math.bitShiftRight': nothing,

  // Views of all header fields.
  raw: perPart(8),
  redacted: perPart(8),
  cookie: perPart(12),
  query: perCharacter(20, 200),
  addQuery: perCharacter(8, 200),
  // Each pair of the query is read by itself, twice.
  setQuery: (target, args) => perCharacter(20, 300)(target, args) + 400 * occurrences(String(target), '&'),
  merge: perElement(30, 100),
};

/** Views of header fields that share their name with a function of texts or lists. */
const ofMaps: Readonly<Record<string, Cost>> = { split: perPart(24), join: perPart(8) };

/** The cost of a call beside the cost that every call has; functions that the table lacks look at all they are given. */
export function costOf(name: string): Cost {
  const cost = table[name] ?? perPart(50);
  const ofMap = ofMaps[name];
  return ofMap === undefined ? cost : (target, args) => (isMapLike(target) ? ofMap : cost)(target, args);
}

/** The functions that have a row. */
export const costed: ReadonlySet<string> = new Set(Object.keys(table));

const isMapLike = (value: unknown): boolean => value instanceof Map || isCelMap(value);

const lengthOf = (value: unknown): number =>
  typeof value === 'string' || value instanceof Uint8Array ? value.length : 0;

const digits = (length: number): number => 20 + length + Math.ceil((length * length) / 256);

const charactersOf = (value: unknown): number => (typeof value === 'string' ? value.length : 0);

function countOf(value: unknown): number {
  if (typeof value === 'string' || value instanceof Uint8Array) return value.length >> 3;
  return isCelList(value) || isCelMap(value) ? value.size : 0;
}

/** Numbers with a decimal point are written by a formatter that is made anew for each. */
function formatUnits(text: string): number {
  let units = 8 * text.length;
  for (let at = text.indexOf('%'); at >= 0; at = text.indexOf('%', at + 1)) {
    units += 50;
    let end = at + 1;
    while (end < text.length && !/[a-zA-Z%]/.test(text.charAt(end))) end += 1;
    if (text.charAt(end) === 'f') units += 10_000;
    at = Math.max(at, end - 1);
  }
  return units;
}

function occurrences(text: string, character: string): number {
  let count = 0;
  for (let at = text.indexOf(character); at >= 0; at = text.indexOf(character, at + 1)) count += 1;
  return count;
}

/**
 * The parts of a value: elements of lists and maps, and eight characters of a text count as one. Counting takes work
 * itself, so that a value that holds the same list many times is not counted for ever.
 */
export function sizeOf(value: unknown): number {
  if (typeof value === 'string' || value instanceof Uint8Array) return 1 + (value.length >> 3);
  if (typeof value !== 'object' || value === null) return 1;
  let size = 1;
  if (Array.isArray(value) || isCelList(value)) {
    for (const item of value as Iterable<unknown>) {
      charge(6);
      size += sizeOf(item);
    }
  } else if (value instanceof Map || isCelMap(value)) {
    for (const [key, item] of value.entries() as Iterable<[unknown, unknown]>) {
      charge(12);
      size += sizeOf(key) + sizeOf(item);
    }
  }
  return Math.min(size, limits.work);
}
