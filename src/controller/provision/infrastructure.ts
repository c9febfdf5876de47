import type { KubeObject } from '../api/object.ts';
import type { Infrastructure, PodInfrastructure } from '../translate/index.ts';
import type { Condition, Gateway } from '../types/index.ts';
import type { ProvisionProblem } from '../write/provisioner.ts';
import { addressesOf, requestedAddresses } from './addresses.ts';

/** The existing objects of a Gateway. */
export interface Provisioned {
  readonly deployment: KubeObject | undefined;
  readonly service: KubeObject | undefined;
  /** The objects that could not be made. */
  readonly problems: readonly ProvisionProblem[];
}

interface DeploymentStatus {
  readonly observedGeneration?: number;
  readonly availableReplicas?: number;
  readonly conditions?: readonly Condition[];
}

/** The part of a Gateway's status about its proxies. */
export function infrastructureOf(gateway: Gateway, provisioned: Provisioned): Infrastructure {
  const { service, problems } = provisioned;
  const addresses = service === undefined ? [] : addressesOf(service);
  const given = new Set(addresses.map(({ type, value }) => `${type} ${value}`));
  const refused = problems.some(({ object }) => object.startsWith('Service '));
  const unusable =
    service === undefined && !refused
      ? []
      : requestedAddresses(gateway).flatMap(({ type, value }) =>
          given.has(`${type} ${value}`) ? [] : [value],
        );
  const pending = pendingOf(provisioned, proxies);
  return {
    addresses,
    ...(unusable.length === 0 ? {} : { unusable }),
    ...(pending === undefined ? {} : { pending }),
  };
}

/** The part of an McpBackend's status about its pod. */
export function podInfrastructureOf(provisioned: Provisioned): PodInfrastructure {
  const pending = pendingOf(provisioned, ofMcpBackend);
  return {
    reachable: provisioned.service !== undefined,
    ...(pending === undefined ? {} : { pending }),
  };
}

/** The words for the serving part in a status. */
interface Words {
  readonly several: string;
  readonly one: string;
}
const proxies: Words = { several: 'proxies are', one: 'proxy' };
const ofMcpBackend: Words = { several: 'its pod is', one: 'pod' };

function pendingOf({ deployment, service, problems }: Provisioned, words: Words): string | undefined {
  const [problem] = problems;
  if (problem !== undefined) return `${problem.object}: ${problem.message}`;
  if (deployment === undefined || service === undefined) return `${words.several} being set up`;
  const {
    observedGeneration = 0,
    availableReplicas = 0,
    conditions = [],
  } = (deployment['status'] ?? {}) as DeploymentStatus;
  if (availableReplicas > 0) return undefined;
  if (observedGeneration < (deployment.metadata.generation ?? 0)) return `${words.several} being set up`;
  // No quota, no permission to run as asked: the pods are not even made.
  const failure = conditions.find(({ type, status }) => type === 'ReplicaFailure' && status === 'True');
  const none = `no ${words.one} is available`;
  return failure === undefined ? none : `${none}: ${failure.message}`;
}
