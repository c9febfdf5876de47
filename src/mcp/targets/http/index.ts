import type { RemoteTarget } from '../../../model/index.ts';
import { remoteOptions } from '../conversation/remoteConnection.ts';
import type { ResumableRuntime, TargetServices, TargetUse } from '../kind/targetRuntime.ts';
import { HttpConnection } from './httpConnection.ts';

/** Sessions with servers that speak Streamable HTTP. */
export function httpRuntime(services: TargetServices): ResumableRuntime<RemoteTarget> {
  const connect = (target: RemoteTarget, use: TargetUse): HttpConnection =>
    new HttpConnection(target, { ...remoteOptions(services, use), shared: () => use.session.shared });
  return {
    connect,
    takeUp: (target, use, place) => {
      const connection = connect(target, use);
      return { connection, ready: connection.takeUp(place) };
    },
  };
}
