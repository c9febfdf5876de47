import type { Place } from '../../model/index.ts';
import type { Path } from '../path.ts';
import type { ProxyProtocolSettings } from '../schema/proxyProtocol.ts';
import type { NamedBackendSettings } from '../schema/route.ts';
import type { FrontendTls } from './serverTls.ts';

/** The facts about the whole document that building needs. */
export interface Surroundings {
  place(path: Path): Place;
  /** Top-level `backends` by name. */
  readonly named: ReadonlyMap<string, NamedBackendSettings>;
  /** TLS of all listeners that say nothing else. */
  readonly frontendTls: FrontendTls;
  /** PROXY protocol of all ports that say nothing else. */
  readonly frontendProxy: ProxyProtocolSettings | undefined;
}
