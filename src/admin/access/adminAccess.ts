import type { IncomingMessage } from 'node:http';
import type { Logger } from '../../telemetry/index.ts';
import { failure, type Admission } from '../answer.ts';
import { refusal } from '../guard.ts';
import type { OperatorSecret } from '../operatorSecret.ts';
import type { Access, AdminCaller, Page } from '../page.ts';
import { reading } from '../reading.ts';
import { ConsoleSessions, isSame } from './consoleSessions.ts';
import { sessionIdsIn } from './cookie.ts';
import { LoginLinks } from './loginLinks.ts';

/** The header that a console sends with every request that is no mere reading. */
export const writeHeader = 'x-portcullis-write';

export interface AdminAccessOptions {
  /** The host that the operator wrote for the listener, which may be a name; undefined for a Unix socket. */
  readonly host: string | undefined;
  /** Other machines may reach the address. */
  readonly exposed: boolean;
  readonly log: Logger;
}

/**
 * Decides who may ask for which page of the admin port. Every local account can connect to a TCP port on loopback, the
 * children of stdio targets included. So a caller proves that it is the operator by the secret of the gateway's user,
 * by the Unix socket of that user, or by the cookie that a one-time link gave to a browser.
 */
export class AdminAccess {
  readonly sessions = new ConsoleSessions();
  readonly links = new LoginLinks();
  /** `owner`: only the operator's user can connect. Undefined: the gateway could not store a secret. */
  secret: OperatorSecret | 'owner' | undefined;
  private readonly options: AdminAccessOptions;

  constructor(options: AdminAccessOptions) {
    this.options = options;
  }

  /** Judges a request before its page. */
  admit(request: IncomingMessage, page: Page | undefined): Admission {
    const { method = '', url = '' } = request;
    const [path = ''] = url.split('?', 1);
    const foreign = refusal(request, this.options.host, page?.fromOtherSites);
    if (foreign !== undefined) return this.refused(request, path, 403, foreign);
    const caller = this.callerOf(request);
    const wanted = this.wantedFor(method, page);
    if (wanted === 'login' || wanted === 'public' || wanted === 'anyone') return { caller };
    if (caller === undefined) return this.refused(request, path, 401, this.ruleFor(method, path));
    if (wanted === 'owner' && caller.by === 'session')
      return this.refused(
        request,
        path,
        403,
        'a console may not do this: use the portcullis command',
        caller,
      );
    if (wanted !== 'viewer' && caller.role !== 'operator')
      return this.refused(request, path, 403, 'this needs the role operator', caller);
    if (caller.by === 'session' && !reading.has(method)) {
      const token = request.headers[writeHeader];
      if (typeof token !== 'string' || !isSame(token, caller.session?.writeToken ?? ''))
        return this.refused(
          request,
          path,
          403,
          `the header ${writeHeader} must have the token of the session`,
          caller,
        );
    }
    return { caller };
  }

  private wantedFor(method: string, page: Page | undefined): Access {
    const wanted = page?.access ?? (reading.has(method) ? 'anyone' : 'operator');
    return wanted === 'anyone' && this.options.exposed ? 'viewer' : wanted;
  }

  private callerOf({ headers, socket }: IncomingMessage): AdminCaller | undefined {
    const { secret } = this;
    if (secret === 'owner') return { role: 'operator', by: 'owner' };
    if (secret?.admits(headers.authorization) === true) return { role: 'operator', by: 'secret' };
    for (const id of sessionIdsIn(headers.cookie, socket.localPort ?? 0)) {
      const session = this.sessions.use(id);
      if (session !== undefined) return { role: session.role, by: 'session', session };
    }
    return undefined;
  }

  private ruleFor(method: string, path: string): string {
    const { secret } = this;
    const what = reading.has(method) ? path : 'a change';
    if (typeof secret === 'object')
      return `${what} needs the secret in ${secret.file}, which \`portcullis admin\` and \`portcullis upgrade\` send, or the login that \`portcullis console\` prints; or use adminAddr: unix:/path`;
    return `${what} is refused over this port, because the gateway could not store a secret: use adminAddr: unix:/path, or signals`;
  }

  private refused(
    { method }: IncomingMessage,
    path: string,
    status: number,
    rule: string,
    caller?: AdminCaller,
  ): Admission {
    this.options.log.warn('Admin request refused', { method, path, rule });
    const headers = status === 401 ? { 'www-authenticate': 'Bearer realm="portcullis admin"' } : {};
    return { refused: { ...failure(path, status, rule), headers }, caller };
  }
}
