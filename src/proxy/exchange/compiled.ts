import type { HttpListener, ProcessSettings, Route } from '../../model/index.ts';
import type { Steps } from '../../policies/index.ts';
import type { LiveExchange } from './liveExchange.ts';
import type { DropTables } from '../routing/droppedHeaders.ts';
import type { HostTable, Router } from '../routing/router.ts';
import type { RouteStats } from '../stats/stats.ts';

/** The kinds of steps that stand in a list of their route. */
export type StepName = 'onRequest' | 'onResponse' | 'onWellKnown' | 'allowMcpItem';
export type Step<Of extends StepName> = Required<Steps>[Of];

/** The ways to other workers. */
export interface RelayRouter {
  /**
   * Takes a request on, where its session is another worker's.
   * @param serveHere what is done with it where that worker turns out to be gone
   */
  take(x: LiveExchange, serveHere: () => void): boolean;
}

/** A route ready to serve; what each request looks at stands first. */
export interface CompiledRoute {
  readonly onRequest: readonly Step<'onRequest'>[];
  /** Absent where no policy looks at answers. */
  readonly onResponse: readonly Step<'onResponse'>[] | undefined;
  /** The relay to other workers where sessions of the route may live. */
  readonly relays: RelayRouter | undefined;
  /** Hands the request to a backend. */
  readonly serve: (x: LiveExchange) => void;
  readonly stats: RouteStats;
  readonly name: string;
  readonly listener: string;
  /** As the model has it; absent where it takes what no route matches. */
  readonly of: Route | undefined;
  readonly onWellKnown: readonly Step<'onWellKnown'>[];
  readonly allowMcpItem: readonly Step<'allowMcpItem'>[];
  /**
   * The reason why the route is closed: it could not be prepared, or something that a policy needs is missing
   * right now.
   */
  readonly broken: string | undefined;
}

export interface CompiledListener {
  readonly name: string;
  readonly bind: string;
  readonly gateway: HttpListener['gateway'];
  readonly policies: HttpListener['policies'];
  readonly router: Router<CompiledRoute>;
  /** Takes what no route matches: the listener's own policies still run. */
  readonly unrouted: CompiledRoute;
}

/** The host belongs to a listener of the port that does not speak HTTP. */
export interface NonHttpListener {
  readonly name: string;
  readonly router?: undefined;
}

/** The parts of the snapshot that an exchange needs. */
export interface Compiled {
  readonly settings: ProcessSettings;
  readonly drop: DropTables;
  /** The listeners of a port, by their host names; `secure`: of connections under TLS. */
  bind(key: string, secure: boolean): HostTable<CompiledListener | NonHttpListener> | undefined;
  /** The exchange is over. */
  leave(): void;
}
