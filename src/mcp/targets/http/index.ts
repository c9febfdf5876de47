import type { RemoteTarget } from '../../../model/index.ts';
import type { ResumableRuntime, TargetServices, TargetUse } from '../kind/targetRuntime.ts';
import { HttpConnection } from './httpConnection.ts';

/** Sessions with servers that speak Streamable HTTP. */
export function httpRuntime({
  restart,
  limits,
  now,
  onRestart,
}: TargetServices): ResumableRuntime<RemoteTarget> {
  const connect = (target: RemoteTarget, { session, log, reach }: TargetUse): HttpConnection =>
    new HttpConnection(target, {
      reach: reach(),
      restart,
      limits,
      log,
      listener: session,
      keep: session.keep,
      now,
      onRestart,
      resumed: session.resumed,
      shared: () => session.shared,
    });
  return {
    connect,
    takeUp: (target, use, place) => {
      const connection = connect(target, use);
      return { connection, ready: connection.takeUp(place) };
    },
  };
}
