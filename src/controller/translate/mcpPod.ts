import { hash } from 'node:crypto';
import type { ClusterTarget, TargetOverNetwork } from '../../mcp/targets/facts.ts';
import type { McpBackend, McpTarget, Model, Place, PolicyUse, ProcessSettings } from '../../model/index.ts';
import { policyNames, type PolicyName } from '../../policies/facts.ts';
import { endpointKey } from './endpoints.ts';
import { mcpPodName } from './mcpPodNames.ts';
import { checked } from './settings.ts';

/** The port of the pod, and of its Service. */
export const mcpPodPort = 8_080;
const path = '/mcp';

/** The name of a target, and its form. */
type WrittenTarget = Pick<ClusterTarget, 'name' | 'field'>;

export const beingSetUp = 'its pod is being set up';

/** The settings of a backend with the program of one target: proxies see to all else. */
const single: Pick<McpBackend, 'prefixMode' | 'dnsRebindingProtection'> = {
  prefixMode: 'conditional',
  dnsRebindingProtection: false,
};

/** @param key `namespace/name` of the McpBackend */
const placeOf = (key: string, { name, field }: WrittenTarget): Place => ({
  file: `McpBackend ${key}`,
  line: 1,
  column: 1,
  path: `spec.targets[${name}].${field}`,
});

function use(name: PolicyName, settings: unknown, place: Place): PolicyUse {
  const read = checked(name, settings);
  if ('reason' in read) throw new TypeError(read.message);
  return { ...read, place };
}

/**
 * The target by which proxies reach the pod of a target.
 * @param key what they show to be let in
 */
export function remoteTarget(
  target: WrittenTarget,
  backend: { readonly namespace: string; readonly name: string; readonly controllerName: string },
  key: string,
): TargetOverNetwork {
  const { namespace } = backend;
  const { name } = target;
  const service = mcpPodName(backend.controllerName, backend.name, name);
  return {
    kind: 'http',
    name,
    host: `${service}.${namespace}.svc`,
    port: mcpPodPort,
    path,
    endpoints: endpointKey(`${namespace}/${service}`, { port: mcpPodPort, protocol: 'TCP' }),
    policies: [use(policyNames.backendAuth, { key }, placeOf(`${namespace}/${backend.name}`, target))],
  };
}

/** Stands for a target that cannot be used: nothing can be reached there. */
export const targetThatIsDown = (name: string): TargetOverNetwork => ({
  kind: 'http',
  name,
  // RFC 6761: no host has such a name.
  host: 'down.invalid',
  port: mcpPodPort,
  path,
  addresses: [],
});

/**
 * The model of the pod of a target: its program, for clients that show the key.
 * @param backend `namespace/name`
 * @param field the form of the target
 */
export function podModel(
  backend: string,
  field: string,
  target: McpTarget,
  key: string,
  process: ProcessSettings,
): Model {
  const place = placeOf(backend, { name: target.name, field });
  // The pod holds only a digest of the key: the program runs beside it.
  const keys = [{ keyHash: `sha256:${hash('sha256', key)}` }];
  return {
    process,
    binds: [
      {
        port: mcpPodPort,
        listeners: [
          {
            name: 'mcp',
            protocol: 'HTTP',
            policies: [use(policyNames.apiKey, { keys, mode: 'strict' }, place)],
            routes: [
              {
                name: `McpBackend/${backend}#0`,
                hostnames: [],
                matches: [{ path: { kind: 'exact', value: path }, headers: [], query: [] }],
                policies: [],
                backends: [
                  {
                    kind: 'mcp',
                    key: `mcp/${backend}`,
                    targets: [target],
                    ...single,
                    weight: 1,
                    place,
                  },
                ],
                place,
              },
            ],
          },
        ],
      },
    ],
  };
}
