import type { Bind, Model } from '../../model/index.ts';
import type { Detection, SecureListener } from './protocolDetector.ts';
import { HostTable } from '../routing/router.ts';
import type { ServerIdentities, ServerIdentity } from './serverIdentity.ts';
import { bindKey } from '../snapshot/snapshot.ts';

/** The detection of each bind that needs one, and every identity that they show. */
export interface Detections {
  readonly byBind: ReadonlyMap<string, Detection>;
  readonly identities: ReadonlySet<ServerIdentity>;
}

/** Prepares the ports of a model that detect the protocol of a connection from its first bytes. */
export function detectionsOf(model: Model, identities: ServerIdentities): Detections {
  const used = new Set<ServerIdentity>();
  const byBind = new Map<string, Detection>();
  for (const [index, bind] of model.binds.entries()) {
    const detection = detectionOf(bind, identities, used);
    if (detection !== undefined) byBind.set(bindKey(bind, index), detection);
  }
  return { byBind, identities: used };
}

function detectionOf(
  bind: Bind,
  identities: ServerIdentities,
  used: Set<ServerIdentity>,
): Detection | undefined {
  const secure: (readonly [hostname: string | undefined, listener: SecureListener])[] = [];
  let tcp: string | undefined;
  let plain = false;
  for (const listener of bind.listeners) {
    const { name, protocol } = listener;
    if (protocol === 'HTTP') plain = true;
    else if (protocol === 'TCP') tcp ??= name;
    else if (protocol !== 'UDP') {
      const { tls, hostname } = listener;
      // The gateway does not know any other protocol behind TLS, and promises nothing.
      const http = protocol === 'HTTPS';
      const identity = tls && (http ? identities.useForHttp(tls) : identities.use(tls, []));
      if (identity !== undefined) used.add(identity);
      secure.push([hostname, { name, identity, http }]);
    }
  }
  const { proxyProtocol: proxy } = bind;
  if (proxy === undefined && tcp === undefined && secure.length === 0) return undefined;
  return { proxy, tcp, plain, secure: secure.length === 0 ? undefined : new HostTable(secure) };
}
