import { valuePattern } from '../fields/httpText.ts';
import type { AwsKeys } from './sigV4.ts';

/** Keys that end. */
export interface IssuedKeys {
  readonly token: AwsKeys;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

const names = {
  accessKeyId: 'AccessKeyId',
  secretAccessKey: 'SecretAccessKey',
  sessionToken: 'SessionToken',
  expiration: 'Expiration',
} as const;

/** The credentials in the XML of an answer of STS. @throws Error that quotes none of them */
export function keysInXml(text: string): IssuedKeys {
  const part = /<Credentials>([\s\S]*?)<\/Credentials>/.exec(text)?.[1] ?? '';
  return issued((name) => new RegExp(`<${name}>([^<&]*)</${name}>`).exec(part)?.[1]?.trim(), names);
}

/** The credentials in the JSON of a metadata server. @throws Error that quotes none of them */
export function keysInJson(body: Buffer): IssuedKeys {
  let value: unknown;
  try {
    value = JSON.parse(body.toString('utf8'));
  } catch {
    // The words of the parser could quote the text.
  }
  const json = (typeof value === 'object' && value !== null ? value : {}) as Readonly<
    Record<string, unknown>
  >;
  return issued(
    (name) => {
      const found = json[name];
      return typeof found === 'string' ? found : undefined;
    },
    { ...names, sessionToken: 'Token' },
  );
}

function issued(
  read: (name: string) => string | undefined,
  fields: Readonly<Record<keyof typeof names, string>>,
): IssuedKeys {
  const field = (name: string): string => {
    const value = read(name);
    if (value === undefined || value === '' || !valuePattern.test(value))
      throw new Error(`the answer has no usable ${name}`);
    return value;
  };
  const expiresAt = Date.parse(field(fields.expiration));
  if (Number.isNaN(expiresAt)) throw new Error(`the answer has no usable ${fields.expiration}`);
  return {
    token: {
      accessKeyId: field(fields.accessKeyId),
      secretAccessKey: field(fields.secretAccessKey),
      sessionToken: field(fields.sessionToken),
    },
    expiresAt,
  };
}

const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };
const entity = /&(amp|lt|gt|quot|apos);/g;

/** The code and the message in an XML error of STS; empty where it is none. */
export function errorInXml(text: string): string {
  const code = /<Code>([\w.]{1,100})<\/Code>/.exec(text)?.[1];
  const message = /<Message>([^<]+)/
    .exec(text)?.[1]
    ?.replaceAll(entity, (_, name: string) => entities[name] ?? '');
  return code === undefined ? '' : `${code}${message === undefined ? '' : `: ${message}`}`;
}
