/** The facts that kinds of targets over the network share. */

import type { McpTarget, NetworkTarget } from '../../../model/index.ts';
import type { FileSurroundings, TargetFacts } from './targetFacts.ts';
import type { RemoteServer } from './remoteServer.ts';

type SharedFacts = Pick<TargetFacts<McpTarget & NetworkTarget>, 'identity' | 'explain'>;

export const networkFacts: SharedFacts = {
  identity: ({ host, port, path, endpoints, tls }) => [
    host,
    port,
    path,
    endpoints ?? null,
    tls !== undefined,
  ],
  explain: (target, { url, calls }) => {
    const policies = (target.policies ?? []).map(({ name }) => name).join(', ');
    return { server: url(target), details: [...(policies === '' ? [] : [policies]), ...calls] };
  },
};

/** The members of a target that is written as a `RemoteServer`. */
export const networkTarget = (
  { at, backend, path }: RemoteServer,
  { name, timeouts, policies, connection }: FileSurroundings,
): NetworkTarget => ({
  name,
  path,
  ...connection(at, backend),
  ...timeouts,
  ...(policies.length === 0 ? {} : { policies }),
});
