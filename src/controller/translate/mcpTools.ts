import type { ClusterTools, Refusal, ServicePort } from '../../mcp/targets/facts.ts';
import type { ObjectMeta } from '../api/object.ts';
import type { BackendRef } from '../types/index.ts';
import { mcpParty, type Asker, type BackendResolver } from './backendRef.ts';
import { problem, type Problem } from './conditions.ts';
import { whyMissing } from './entries.ts';
import { written } from './grants.ts';
import type { Lookup } from './lookup.ts';
import { environmentOf } from './mcpEnvironment.ts';
import { authoritiesOf, type Checked } from './pem.ts';
import { selects } from './selector.ts';

const unresolved = (why: Problem): Refusal => ({ as: 'unresolved', why });

/** Looks up the objects that an McpBackend of a namespace names. */
export function clusterTools(
  services: Pick<BackendResolver, 'resolve'>,
  namespace: string,
  asker: Asker,
): ClusterTools {
  const { lookup } = asker.gateway;
  return {
    environment: (variables) => {
      const found = environmentOf(variables, namespace, lookup);
      return 'reason' in found ? unresolved(found) : found;
    },
    select: (labels) =>
      lookup
        .servicesIn(namespace)
        .filter(({ metadata }) => selects(labels, metadata.labels ?? {}) && !isProvisioned(metadata))
        .map(({ metadata: { name }, spec }) => ({ name, ports: (spec?.ports ?? []).filter(isOfTcp) })),
    service: (port) => {
      const from = mcpParty(namespace);
      const found = services.resolve(definite(port), { ...asker, from, spoken: 'http' });
      return 'reason' in found ? unresolved(found) : found;
    },
    authorities: (configMaps) => authoritiesIn(configMaps, namespace, lookup),
    entry: (name, entry) => entryIn(name, entry, namespace, lookup),
  };
}

/** The authorities that ConfigMaps of a namespace hold. */
function authoritiesIn(
  names: readonly { readonly name: string }[],
  namespace: string,
  { configMaps }: Lookup,
): ReturnType<ClusterTools['authorities']> {
  const texts: string[] = [];
  for (const { name } of names) {
    const map = configMaps.get(`${namespace}/${name}`);
    const checked: Checked<string> =
      map === undefined ? { ok: false, why: 'there is none' } : authoritiesOf(map);
    // Fewer authorities than were asked for would still be safe, but nobody would learn of it.
    if (!checked.ok)
      return unresolved(
        problem('InvalidCACertificateRef', `${written('ConfigMap', namespace, name)}: ${checked.why}`),
      );
    texts.push(checked.value);
  }
  return { texts };
}

/** The text of an entry of a ConfigMap. */
function entryIn(
  name: string,
  entry: string,
  namespace: string,
  { configMaps }: Lookup,
): ReturnType<ClusterTools['entry']> {
  const map = configMaps.get(`${namespace}/${name}`);
  const text = map?.data?.[entry];
  if (text !== undefined) return { text };
  const why = map === undefined ? 'there is none' : whyMissing(map, entry);
  return unresolved(problem('InvalidConfigMapRef', `${written('ConfigMap', namespace, name)}: ${why}`));
}

const isOfTcp = ({ protocol = 'TCP' }: { readonly protocol?: string }): boolean => protocol === 'TCP';

/** Services that lead to proxies, or to pods that only proxies may reach. */
const isProvisioned = ({ labels }: ObjectMeta): boolean =>
  labels?.['app.kubernetes.io/managed-by'] === 'portcullis';

/** Without fields that are there and undefined. */
const definite = ({ name, namespace, port }: ServicePort): BackendRef => ({
  name,
  port,
  ...(namespace === undefined ? {} : { namespace }),
});
