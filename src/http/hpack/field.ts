import { connectionFields } from '../fields.ts';
import { TOKEN, VALUE } from '../octets.ts';

/** The role of a field in a request (RFC 9113 §8.3.1, RFC 8441 §4). */
export const ROLE = {
  regular: 0,
  method: 1,
  scheme: 2,
  authority: 3,
  path: 4,
  protocol: 5,
  host: 6,
  cookie: 7,
  length: 8,
} as const;

const roles: readonly (readonly [name: string, role: number])[] = [
  [':method', ROLE.method],
  [':scheme', ROLE.scheme],
  [':authority', ROLE.authority],
  [':path', ROLE.path],
  [':protocol', ROLE.protocol],
  ['host', ROLE.host],
  ['cookie', ROLE.cookie],
  ['content-length', ROLE.length],
];

/** The overhead that RFC 7541 §4.1 adds to the bytes of a field's name and value. */
const OVERHEAD = 32;

/**
 * A field of a request, and what the rules of HTTP/2 say about it by itself: that is found out once, however often the
 * table is asked for it.
 */
export class Field {
  readonly name: string;
  readonly value: string;
  /** Bytes by which limits and tables count it (RFC 7541 §4.1). */
  readonly size: number;
  /** A value of `ROLE`. */
  readonly role: number;
  /** The reason why a request with this field is malformed (RFC 9113 §8.2.1, §8.2.2). */
  readonly flaw: string | undefined;
  private text: string | undefined;

  constructor(name: string, value: string) {
    this.name = name;
    this.value = value;
    this.size = name.length + value.length + OVERHEAD;
    this.role = roleOf(name);
    this.flaw = flawOf(name, value);
  }

  /** As a line of HTTP/1.1. */
  get line(): string {
    return (this.text ??= `${this.name}: ${this.value}\r\n`);
  }
}

function roleOf(name: string): number {
  for (const [known, role] of roles) if (known === name) return role;
  return ROLE.regular;
}

function flawOf(name: string, value: string): string | undefined {
  const pseudo = name.charCodeAt(0) === COLON;
  if (pseudo && roleOf(name) === ROLE.regular) return 'an unknown pseudo-header';
  if (!pseudo && !isLowerName(name)) return 'a malformed field name';
  if (!isValue(value)) return 'a malformed field value';
  if (connectionFields.includes(name)) return `${name} in HTTP/2`;
  if (name === 'te' && value.toLowerCase() !== 'trailers') return 'te other than trailers';
  return undefined;
}

const COLON = 58;
const SPACE = 32;
const TAB = 9;

/** A field name as HTTP/2 has it: no capitals, and no colon, behind which another name and value would begin. */
function isLowerName(name: string): boolean {
  for (let i = 0; i < name.length; i++) {
    const code = name.charCodeAt(i);
    if (TOKEN[code] !== code) return false;
  }
  return name.length > 0;
}

const isBlank = (code: number): boolean => code === SPACE || code === TAB;

/** A field value that is no more than one line, without white space around it. */
function isValue(value: string): boolean {
  for (let i = 0; i < value.length; i++) if (VALUE[value.charCodeAt(i)] !== 1) return false;
  return value === '' || (!isBlank(value.charCodeAt(0)) && !isBlank(value.charCodeAt(value.length - 1)));
}
