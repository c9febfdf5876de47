import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import type { ConsoleSession } from './access/consoleSessions.ts';
import type { Role } from './access/roles.ts';

/** The content of a page. */
export interface Answer {
  readonly status: number;
  readonly body: string | Buffer;
  readonly type?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** The answer is an event stream, which begins behind the head. */
  readonly stream?: (response: ServerResponse) => void;
}

/** The proof that a request of a known caller carries. */
export interface AdminCaller {
  readonly role: Role;
  /**
   * `owner`: the Unix socket of the gateway's user; `secret`: the operator's secret; `session`: a console;
   * `gateway`: a console on a port of the data plane, whose caller the policies of the route have authenticated.
   */
  readonly by: 'owner' | 'secret' | 'session' | 'gateway';
  /** Set where the caller is a console. */
  readonly session?: ConsoleSession;
  /** The name that the policies of the route have found. */
  readonly name?: string;
  /** The client, where the connection is that of the gateway. */
  readonly client?: { readonly address: string; readonly port: number };
  /** The end of the access, in milliseconds since the epoch. */
  readonly until?: number;
  /** The path that ends the login of the caller. */
  readonly logoutPath?: string;
}

/** A request for a page. */
export interface Asked {
  readonly method: string;
  readonly query: URLSearchParams;
  /** The decoded values of the parameters in the path. */
  readonly parameters: Readonly<Record<string, string>>;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  /** Undefined where the request proves nothing, and the page demands nothing. */
  readonly caller: AdminCaller | undefined;
}

/**
 * Who may ask for a page. `anyone`: every request that reaches the port, as long as only this machine reaches it.
 * `public`: every request, for what holds no data. `login`: every request, which opens a session. `owner`: the
 * operator's secret or the Unix socket, and no console.
 */
export type Access = 'anyone' | 'public' | 'login' | Role | 'owner';

export interface Page {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** A segment `{name}` stands for any text, and `{name*}` at the end for any rest of a path. */
  readonly path: string;
  /** For the index. */
  readonly about: string;
  readonly access: Access;
  /** Links and redirects of other sites may lead a browser here. */
  readonly fromOtherSites?: true;
  /** A POST that changes nothing. */
  readonly readsOnly?: true;
  /** Bytes of a body that the page takes; other pages read none. */
  readonly maxBody?: number;
  readonly answer: (asked: Asked) => Answer | Promise<Answer>;
}

export const text = (status: number, body: string): Answer => ({ status, body: `${body}\n` });

export const json = (status: number, value: unknown): Answer => ({
  status,
  body: `${JSON.stringify(value, null, 2)}\n`,
  type: 'application/json',
});
