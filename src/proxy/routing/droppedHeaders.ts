import { dropTable, hopByHop, KIND, type DropTable } from '../../http/index.ts';
import type { ProcessSettings } from '../../model/index.ts';

/** The fields of the peer that are not forwarded, by direction. */
export interface DropTables {
  readonly request: DropTable;
  /** The same without Host, for a target that came in absolute form. */
  readonly requestNewHost: DropTable;
  readonly response: DropTable;
  /** For a client or a body whose framing we write ourselves. */
  readonly responseNewFraming: DropTable;
}

/** Fields the gateway writes anew replace the peer's: a client cannot forge them. */
export function dropTables({
  headers: settings,
  trustedProxies,
}: Pick<ProcessSettings, 'headers' | 'trustedProxies'>): DropTables {
  const own = [
    // The gateway gives leave to send the body itself.
    KIND.expect,
    // If the configuration names trusted proxies, the gateway writes the field itself, with the words of a trusted one.
    ...(settings.forwardedFor || trustedProxies !== undefined ? [KIND.forwardedFor] : []),
    ...(settings.forwardedProto ? [KIND.forwardedProto] : []),
    ...(settings.forwardedHost ? [KIND.forwardedHost] : []),
    ...(settings.requestId ? [KIND.requestId] : []),
  ];
  const response = [...hopByHop, ...(settings.upstreamServiceTime ? [KIND.serviceTime] : [])].filter(
    (kind) => kind !== KIND.proxyAuthenticate,
  );
  return {
    request: dropTable([...hopByHop, ...own]),
    requestNewHost: dropTable([...hopByHop, ...own, KIND.host]),
    response: dropTable(response),
    responseNewFraming: dropTable([...response, KIND.transferEncoding, KIND.contentLength]),
  };
}
