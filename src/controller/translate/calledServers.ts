import { factsOf, type PolicyName } from '../../policies/facts.ts';
import { isRecord } from '../api/object.ts';

/** Servers that the policies of a cluster have the proxies call: by their address, and with no settings of a connection. */

/** Fields of such a server that only a file may have. */
export const fileFieldsOfServers = ['backend', 'port', 'policies.backendTLS'] as const;

const label = '[a-z0-9]([-a-z0-9]*[a-z0-9])?';
/** Plain text goes to a Service only: the proxies send secrets there. */
export const serverHost = new RegExp(
  `^(https://.+|${label}[.]${label}[.]svc([.]cluster[.]local)?:[0-9]{1,5})$`,
);
export const serverHostRule =
  'expected https://NAME, or a Service: NAME.NAMESPACE.svc:PORT, with .cluster.local or without';

/** May only a file have this field? @param path with `*` for entries of a list */
export const isFileField = (policy: string, path: readonly string[]): boolean =>
  factsOf(policy)?.servers?.paths.some((server) =>
    fileFieldsOfServers.some((field) => path.join('.') === [...stepsOf(server), field].join('.')),
  ) === true;

/** Is this the place of a server in the settings of the policy? @param path with `*` for entries of a list */
export const isServerPlace = (policy: string, path: readonly string[]): boolean =>
  factsOf(policy)?.servers?.paths.includes(path.join('.')) === true;

/**
 * The problem of the servers that a policy names; undefined if there is none.
 * @param namespace of the policy
 */
export function serverProblem(name: PolicyName, settings: unknown, namespace: string): string | undefined {
  for (const path of factsOf(name)?.servers?.paths ?? [])
    for (const [server, at] of placesAt(settings, stepsOf(path), name)) {
      const field = fileFieldsOfServers.find((one) => valueAt(server, one.split('.')) !== undefined);
      if (field !== undefined) return `${at}.${field}: is not for the cluster`;
      const { host } = server;
      if (typeof host !== 'string') continue;
      if (!serverHost.test(host)) return `${at}.host: ${serverHostRule}`;
      // Another namespace may have servers that trust whoever reaches them.
      if (!host.startsWith('https:') && host.split('.')[1] !== namespace)
        return `${at}.host: a Service of another namespace needs https://`;
    }
  return undefined;
}

/** The steps of a path; none where it stands for the settings themselves. */
const stepsOf = (path: string): readonly string[] => path.split('.').filter((step) => step !== '');

const valueAt = (value: unknown, [key, ...rest]: readonly string[]): unknown =>
  key === undefined ? value : isRecord(value) ? valueAt(value[key], rest) : undefined;

type Place = readonly [settings: Readonly<Record<string, unknown>>, at: string];

function placesAt(value: unknown, [key, ...rest]: readonly string[], at: string): readonly Place[] {
  if (key === undefined) return isRecord(value) ? [[value, at]] : [];
  if (key !== '*') return isRecord(value) ? placesAt(value[key], rest, `${at}.${key}`) : [];
  return Array.isArray(value)
    ? value.flatMap((one: unknown, index) => placesAt(one, rest, `${at}[${String(index)}]`))
    : [];
}
