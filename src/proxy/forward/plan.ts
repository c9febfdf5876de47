import { isIP } from 'node:net';
import type { Mirror as MirrorOfModel, ProcessSettings } from '../../model/index.ts';
import type { BodyLimit, Forwarding, RetryPlan } from '../../policies/index.ts';
import { targetOf, type Target } from '../../upstream/index.ts';
import type { BackendTools } from './backendTools.ts';
import { Mirror } from './mirror.ts';

/** As for the backends of a file: the policy names a mirror by host name or by address. */
const ownHostOf = (host: string): Pick<Target, 'ownHost'> => (isIP(host) === 0 ? { ownHost: true } : {});

/** A body that is gathered in memory, up to so many bytes. */
export interface BufferLimit {
  readonly maxBytes: number;
  readonly failOpen: boolean;
}

/** The actions of a route's policies during forwarding, ready to use. */
export interface Plan {
  readonly retry: RetryPlan | undefined;
  readonly mirrors: readonly { readonly share: number; readonly mirror: Mirror }[];
  readonly request: BufferLimit | undefined;
  readonly response: BufferLimit | undefined;
}

/** For a request whose body is gathered for its signature. */
export const noPlan: Plan = { retry: undefined, mirrors: [], request: undefined, response: undefined };

/**
 * @param further mirrors that are no matter of policies
 * @returns undefined where nothing is wanted that needs a plan
 */
export function compilePlan(
  { retry, mirrors = [], buffer }: Forwarding,
  settings: ProcessSettings,
  tools: BackendTools,
  further: readonly MirrorOfModel[] = [],
): Plan | undefined {
  const all: readonly { readonly target: Target; readonly share: number }[] = [
    ...mirrors.map(({ host, port, share }) => ({ target: { host, port, ...ownHostOf(host) }, share })),
    ...further.map(({ backend, share }) => ({ target: targetOf(backend), share })),
  ];
  if (retry === undefined && all.length === 0 && buffer === undefined) return undefined;
  const { limits, upstream } = settings;
  const hold = (limit: BodyLimit | undefined): BufferLimit | undefined =>
    limit === undefined
      ? undefined
      : { maxBytes: limit.maxBytes ?? limits.maxBufferBytes, failOpen: limit.failOpen };
  return {
    retry,
    mirrors: all.map(({ target, share }) => {
      const destination = tools.endpoints.use(target, upstream, limits);
      tools.uses.destinations.add(destination);
      return { share, mirror: new Mirror(destination) };
    }),
    request: hold(buffer?.request),
    response: hold(buffer?.response),
  };
}
