import { createHash, createHmac, randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { consoleHeader, readConsoleCall, type ConsoleCall } from '../../http/index.ts';
import type { Logger } from '../../telemetry/index.ts';
import { writeHeader } from '../access/adminAccess.ts';
import { isSame } from '../access/consoleSessions.ts';
import { consolePath } from '../access/loginPages.ts';
import { failure, type Admission } from '../answer.ts';
import type { AdminCaller, Page } from '../page.ts';
import { reading } from '../reading.ts';

/**
 * Decides who may ask for which page of the console on a port of the data plane. The policies of the route have
 * authenticated the caller, and the rules of `ui.operators` have given it a role.
 */
export class DoorAccess {
  private readonly secret: string;
  private readonly log: Logger;
  /** Makes the write tokens of callers. */
  private readonly key = randomBytes(32);

  constructor(secret: string, log: Logger) {
    this.secret = secret;
    this.log = log;
  }

  /** The reason why a page of another site, or another program, may have sent the request; undefined: it may pass. */
  refusal(request: IncomingMessage): string | undefined {
    const call = this.callOf(request);
    return call === undefined ? unknownSender : foreign(request, call);
  }

  /** Judges a request before its page. */
  admit(request: IncomingMessage, page: Page | undefined): Admission {
    const { url = '' } = request;
    const [path = ''] = url.split('?', 1);
    const call = this.callOf(request);
    if (call === undefined) return this.refused(request, path, unknownSender, undefined);
    const caller = this.callerOf(call);
    const wrong = foreign(request, call) ?? this.lacks(request, page, caller);
    return wrong === undefined ? { caller } : this.refused(request, path, wrong, caller);
  }

  private lacks(
    { method = '', headers }: IncomingMessage,
    page: Page | undefined,
    { role, session }: AdminCaller,
  ): string | undefined {
    if (page?.access === 'owner') return 'a console may not do this: use the portcullis command';
    const wanted = page?.access ?? (reading.has(method) ? 'viewer' : 'operator');
    if (wanted !== 'viewer' && role !== 'operator')
      return 'this needs the role operator, which ui.operators gives';
    if (reading.has(method)) return undefined;
    const token = headers[writeHeader];
    return typeof token === 'string' && isSame(token, session?.writeToken ?? '')
      ? undefined
      : `the header ${writeHeader} must have the token of the session`;
  }

  private callOf({ headers }: IncomingMessage): ConsoleCall | undefined {
    const value = headers[consoleHeader];
    return readConsoleCall(typeof value === 'string' ? value : undefined, this.secret);
  }

  private callerOf({ role, principal, name, address, port, until, logoutPath }: ConsoleCall): AdminCaller {
    return {
      role,
      by: 'gateway',
      name,
      client: { address, port },
      session: {
        role,
        label: createHash('sha256').update(principal).digest('hex').slice(0, 12),
        // A page of another site makes browsers send credentials, and cannot read this.
        writeToken: createHmac('sha256', this.key).update(principal).digest('base64url'),
      },
      ...(until !== undefined && { until }),
      ...(logoutPath !== undefined && { logoutPath }),
    };
  }

  private refused(
    { method }: IncomingMessage,
    path: string,
    rule: string,
    caller: AdminCaller | undefined,
  ): Admission {
    this.log.warn('Console request refused', { method, path, rule, user: caller?.name });
    return { refused: failure(path, 403, rule), caller };
  }
}

const unknownSender = 'the request comes from another program than the gateway';

/** Browsers tell where a request comes from. A page of another site may only lead its user to the console. */
function foreign(
  { method, url = '', headers }: IncomingMessage,
  { origin }: ConsoleCall,
): string | undefined {
  if (headers.origin !== undefined && headers.origin !== origin) return 'origin not allowed';
  const site = headers['sec-fetch-site'];
  if (site === undefined || site === 'same-origin' || site === 'none') return undefined;
  // The end of a login is a navigation from the provider.
  const isPage = method === 'GET' && headers['sec-fetch-mode'] === 'navigate' && url.startsWith(consolePath);
  const isWhole = headers['sec-fetch-dest'] === undefined || headers['sec-fetch-dest'] === 'document';
  return isPage && isWhole ? undefined : 'cross-site request not allowed';
}
