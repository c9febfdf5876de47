import { createHash, timingSafeEqual } from 'node:crypto';

/** The header in which the data plane describes the caller of a request for the console. No client can send it there. */
export const consoleHeader = 'x-portcullis-console';

/** The caller of a request for the console, whom the policies of a route have authenticated. */
export interface ConsoleCall {
  readonly role: 'viewer' | 'operator';
  /** Everything that was proven about the caller: the same text for the same caller. */
  readonly principal: string;
  /** The name of the caller, for people. */
  readonly name: string;
  /** The origin that a page of this console has. */
  readonly origin: string;
  readonly address: string;
  readonly port: number;
  /** The end of the caller's access, in milliseconds since the epoch. */
  readonly until?: number;
  /** The path that ends the caller's login. */
  readonly logoutPath?: string;
}

/** The value of the header. */
export const writeConsoleCall = (secret: string, call: ConsoleCall): string =>
  `${secret} ${Buffer.from(JSON.stringify(call)).toString('base64url')}`;

/** Reads the value of the header. @returns undefined where the sender does not know the secret */
export function readConsoleCall(value: string | undefined, secret: string): ConsoleCall | undefined {
  const [given = '', call = ''] = (value ?? '').split(' ', 2);
  if (!timingSafeEqual(digest(given), digest(secret))) return undefined;
  return JSON.parse(Buffer.from(call, 'base64url').toString()) as ConsoleCall;
}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
