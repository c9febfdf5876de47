import type { KubeObject } from '../api/object.ts';
import { keyOf } from '../api/object.ts';
import type { Parameters } from '../translate/index.ts';
import type { Gateway, GatewayClass, Reference } from '../types/index.ts';
import {
  chosenParameters,
  readParameters,
  type ChosenParameters,
  type ProxyParameters,
} from './parameters.ts';
import { neededSecrets } from './proxySettings.ts';

export const parametersGroup = 'portcullis.dev';
export const parametersKind = 'PortcullisParameters';

type Read = { readonly parameters: ProxyParameters } | { readonly problem: string };

/** The PortcullisParameters of a cluster, each read once. */
export class KnownParameters {
  private readonly byKey: ReadonlyMap<string, Read>;
  /** For the translation: whom a `parametersRef` may name. */
  readonly named: readonly Parameters[];

  constructor(objects: readonly KubeObject[]) {
    this.byKey = new Map(
      objects.map((object) => [keyOf(object.metadata.namespace, object.metadata.name), read(object)]),
    );
    this.named = objects.map(({ metadata: { namespace, name } }) => {
      const found = this.byKey.get(keyOf(namespace, name));
      return {
        group: parametersGroup,
        kind: parametersKind,
        ...(namespace === undefined ? {} : { namespace }),
        name,
        ...(found === undefined || !('problem' in found) ? {} : { problem: found.problem }),
        ...rightsOf(found),
        ...secretsOf(found),
      };
    });
  }

  /**
   * The parameters of a Gateway: its own over those of its class. Undefined where a reference cannot be followed.
   */
  of(gateway: Gateway, gatewayClass: GatewayClass | undefined): ChosenParameters | undefined {
    const own = gateway.spec.infrastructure?.parametersRef;
    const ofClass = this.follow(gatewayClass?.spec.parametersRef);
    const ofGateway = this.follow(
      own === undefined ? undefined : { ...own, namespace: gateway.metadata.namespace ?? '' },
    );
    return ofClass === undefined || ofGateway === undefined
      ? undefined
      : chosenParameters(ofClass, ofGateway);
  }

  private follow(reference: Reference | undefined): ProxyParameters | undefined {
    if (reference === undefined) return {};
    if (reference.group !== parametersGroup || reference.kind !== parametersKind) return undefined;
    const found = this.byKey.get(keyOf(reference.namespace, reference.name));
    return found !== undefined && 'parameters' in found ? found.parameters : undefined;
  }
}

function rightsOf(found: Read | undefined): Pick<Parameters, 'mcp'> {
  if (found === undefined || 'problem' in found || found.parameters.mcp === undefined) return {};
  return { mcp: found.parameters.mcp };
}

function secretsOf(found: Read | undefined): Pick<Parameters, 'store' | 'secrets'> {
  if (found === undefined || 'problem' in found) return {};
  const secrets = neededSecrets(found.parameters);
  return {
    ...(found.parameters.store === undefined ? {} : { store: true }),
    ...(Object.keys(secrets).length === 0 ? {} : { secrets }),
  };
}

/** Objects are replaced when they change, so what was read of one holds as long as it lives. */
const readings = new WeakMap<KubeObject, Read>();

function read(object: KubeObject): Read {
  const known = readings.get(object);
  if (known !== undefined) return known;
  const reading = readParameters(object['spec'] ?? {});
  readings.set(object, reading);
  return reading;
}
