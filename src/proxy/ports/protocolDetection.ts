import type { Bind, Model } from '../../model/index.ts';
import type { Door, SecureListener } from './entrance.ts';
import { HostTable } from '../routing/router.ts';
import type { ServerIdentities, ServerIdentity } from './serverIdentity.ts';
import { bindKey } from '../snapshot/snapshot.ts';

/** The doors of a model by bind; `identities` is all they show. */
export interface Doors {
  readonly byBind: ReadonlyMap<string, Door>;
  readonly identities: ReadonlySet<ServerIdentity>;
}

/** Selects the ports of a model that look at the first bytes of a connection, and their actions. */
export function doorsOf(model: Model, identities: ServerIdentities): Doors {
  const used = new Set<ServerIdentity>();
  const byBind = new Map<string, Door>();
  for (const [index, bind] of model.binds.entries()) {
    const door = doorOf(bind, identities, used);
    if (door !== undefined) byBind.set(bindKey(bind, index), door);
  }
  return { byBind, identities: used };
}

function doorOf(bind: Bind, identities: ServerIdentities, used: Set<ServerIdentity>): Door | undefined {
  const secure: (readonly [hostname: string | undefined, listener: SecureListener])[] = [];
  let tcp: string | undefined;
  let plain = false;
  for (const listener of bind.listeners) {
    const { name, protocol } = listener;
    if (protocol === 'HTTP') plain = true;
    else if (protocol === 'TCP') tcp ??= name;
    else if (protocol !== 'UDP') {
      const { tls, hostname } = listener;
      // ALPN chooses between versions of HTTP; what else is behind TLS we do not know, and promise nothing.
      const http = protocol === 'HTTPS';
      const identity = tls === undefined ? undefined : identities.use(tls, http ? ['h2', 'http/1.1'] : []);
      if (identity !== undefined) used.add(identity);
      secure.push([hostname, { name, identity, http }]);
    }
  }
  const { proxyProtocol: proxy } = bind;
  if (proxy === undefined && tcp === undefined && secure.length === 0) return undefined;
  return { proxy, tcp, plain, secure: secure.length === 0 ? undefined : new HostTable(secure) };
}
