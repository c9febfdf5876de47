import type { Model, ProcessSettings } from '../model/index.ts';

/**
 * A model of a controller, for this process: what is read at start is its own, the access log, and where it runs. Only the key that
 * sessions are sealed with comes from the controller, since the proxies of a Gateway have it in common; one of its own
 * (SESSION_KEY) counts more. Who may write listeners is not who runs this process: a port that cannot be bound closes
 * its own listeners and nothing else.
 */
export function withOwnSettings(
  { process: { accessFields: _fields, ...process }, binds }: Model,
  { fixed, upstream, accessLog, accessFields }: ProcessSettings,
): Model {
  const { sessionKey = process.fixed.sessionKey, ...rest } = fixed;
  const { zone = process.upstream.zone } = upstream;
  return {
    process: {
      ...process,
      accessLog,
      ...(accessFields === undefined ? {} : { accessFields }),
      fixed: { ...rest, ...(sessionKey === undefined ? {} : { sessionKey }) },
      upstream: { ...process.upstream, ...(zone === undefined ? {} : { zone }) },
    },
    binds: binds.map((bind) => ({ ...bind, optional: true })),
  };
}
