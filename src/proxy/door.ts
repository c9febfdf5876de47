import type { Bind, Model } from '../model/index.ts';
import type { Door } from './entrance.ts';
import { HostTable } from './router.ts';
import type { ServerIdentities, ServerIdentity } from './serverIdentity.ts';
import { bindKey } from './snapshot.ts';

/** The doors of a model by bind; `identities` is all they show. */
export interface Doors {
  readonly byBind: ReadonlyMap<string, Door>;
  readonly identities: ReadonlySet<ServerIdentity>;
}

/** Which ports of a model look at the first bytes of a connection, and what they do then. */
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
  const secure = bind.listeners.flatMap((listener) => {
    if (listener.protocol !== 'HTTPS' || listener.tls === undefined) return [];
    const { name, hostname, tls } = listener;
    const identity = identities.use(tls);
    used.add(identity);
    return [[hostname, { name, identity }] as const];
  });
  if (secure.length === 0) return undefined;
  return { secure: new HostTable(secure), plain: secure.length < bind.listeners.length };
}
