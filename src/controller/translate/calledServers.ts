import { factsOf, type PolicyName } from '../../policies/facts.ts';
import { isRecord } from '../api/object.ts';

/** Servers that the policies of a cluster have the proxies call: by their address, and with no settings of a connection. */

/** Fields of such a server that only a file may have. */
export const fileFieldsOfServers = ['backend', 'policies'] as const;

const service = String.raw`[a-z0-9]([-a-z0-9]*[a-z0-9])?\.[a-z0-9]([-a-z0-9]*[a-z0-9])?\.svc(\.cluster\.local)?(:[0-9]{1,5})?`;
/** Plain text goes to a Service only: the proxies send secrets there. */
export const serverHost = new RegExp(`^(https://.+|(http://)?${service}/?)$`);
export const serverHostRule =
  'expected https://NAME, or a Service: NAME.NAMESPACE.svc:PORT, with .cluster.local or without';

/** Is this the place of a server in the settings of the policy? @param path with `*` for entries of a list */
export const isServerPlace = (policy: string, path: readonly string[]): boolean =>
  factsOf(policy)?.servers?.paths.includes(path.join('.')) === true;

/** The problem of the servers that a policy names; undefined if there is none. */
export function serverProblem(name: PolicyName, settings: unknown): string | undefined {
  for (const path of factsOf(name)?.servers?.paths ?? [])
    for (const [server, at] of placesAt(settings, path.split('.'), name)) {
      const field = fileFieldsOfServers.find((one) => server[one] !== undefined);
      if (field !== undefined) return `${at}.${field}: is not for the cluster`;
      const { host } = server;
      if (typeof host === 'string' && !serverHost.test(host)) return `${at}.host: ${serverHostRule}`;
    }
  return undefined;
}

type Place = readonly [settings: Readonly<Record<string, unknown>>, at: string];

function placesAt(value: unknown, [key, ...rest]: readonly string[], at: string): readonly Place[] {
  if (key === undefined) return isRecord(value) ? [[value, at]] : [];
  if (key !== '*') return isRecord(value) ? placesAt(value[key], rest, `${at}.${key}`) : [];
  return Array.isArray(value)
    ? value.flatMap((one: unknown, index) => placesAt(one, rest, `${at}[${String(index)}]`))
    : [];
}
