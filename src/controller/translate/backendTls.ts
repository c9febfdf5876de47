import type { BackendTls } from '../../model/index.ts';
import type { BackendTLSPolicy, Service, ServicePort } from '../types/index.ts';
import { problem, type Problem } from './conditions.ts';
import { written } from './grants.ts';
import type { Guard } from './guard.ts';
import { byAge, keyOfNamed, type Lookup } from './lookup.ts';
import { authoritiesOf, type Checked } from './pem.ts';
import type { NamedGateway } from './state.ts';

/** The state of a BackendTLSPolicy. */
export interface PolicyState {
  readonly object: BackendTLSPolicy;
  readonly tls: BackendTls | undefined;
  /** The reason why it cannot be used. */
  readonly invalid: Problem | undefined;
  readonly unresolved: Problem | undefined;
  /** Another one has a target of it. */
  conflict: Problem | undefined;
  /** The uses by Gateways whose routes go to a target of it, by `namespace/name` of the Gateway. */
  readonly uses: Map<string, PolicyUseByGateway>;
}

/** The use of a BackendTLSPolicy by a Gateway. */
export interface PolicyUseByGateway {
  readonly gateway: NamedGateway;
  /** The policy names a port that its Service does not have. */
  readonly missing: Problem | undefined;
}

/** The BackendTLSPolicies by what they are for. */
export class BackendTlsPolicies {
  readonly all: PolicyState[] = [];
  private readonly byName = new Map<string, PolicyState>();
  /** By Service and name of the port, which is empty for those that are for every port. */
  private readonly byTarget = new Map<string, PolicyState>();
  /** All that name a Service, whether they count or not. */
  private readonly byService = new Map<string, Set<PolicyState>>();
  /** By Service, the policies that name it, and the port that each misses there. Many routes may go to one Service. */
  private readonly looked = new Map<Service, ReadonlyMap<PolicyState, Problem | undefined>>();

  /** @param lookupOf what a policy asks for other objects */
  constructor(
    policies: readonly BackendTLSPolicy[],
    lookupOf: (policy: BackendTLSPolicy) => Lookup,
    guard: Guard,
  ) {
    for (const object of policies.toSorted(byAge))
      guard('BackendTLSPolicy', object, () => this.add(readPolicy(object, lookupOf(object))));
  }

  /** A route of the Gateway goes to the Service. */
  noteUse(service: Service, gateway: NamedGateway): void {
    for (const [state, missingHere] of this.policiesOf(service) ?? []) {
      // A policy may be for several Services, and the Gateway may use all of them.
      const missing = state.uses.get(gateway.key)?.missing ?? missingHere;
      state.uses.set(gateway.key, { gateway, missing });
    }
  }

  /**
   * The policy for a port of a Service. A port without one is out of use while a policy names a port that the Service
   * does not have: the port may have got another name, and must not lose its TLS by that.
   */
  find(service: Service, { name = '' }: ServicePort): PolicyState | Problem | undefined {
    const policies = this.policiesOf(service);
    // Most Services have none.
    if (policies === undefined) return undefined;
    const key = keyOfNamed(service);
    const found =
      (name === '' ? undefined : this.byTarget.get(`${key} ${name}`)) ?? this.byTarget.get(`${key} `);
    if (found !== undefined) return found;
    for (const [state, missing] of policies)
      if (missing !== undefined)
        return problem(
          'InvalidBackendTLSPolicy',
          `BackendTLSPolicy ${keyOfNamed(state.object)}: ${missing.message}`,
        );
    return undefined;
  }

  /** @param key `namespace/name` of the policy */
  named(key: string): PolicyState | undefined {
    return this.byName.get(key);
  }

  /** Undefined where there is none. */
  private policiesOf(service: Service): ReadonlyMap<PolicyState, Problem | undefined> | undefined {
    const states = this.byService.get(keyOfNamed(service));
    if (states === undefined) return undefined;
    let known = this.looked.get(service);
    if (known === undefined) {
      known = new Map(Array.from(states, (state) => [state, missingPort(state, service)]));
      this.looked.set(service, known);
    }
    return known;
  }

  private add(state: PolicyState): void {
    for (const { service, sectionName } of servicesOf(state.object)) {
      const target = `${service} ${sectionName}`;
      const first = this.byTarget.get(target);
      if (first === undefined) this.byTarget.set(target, state);
      else
        state.conflict ??= problem(
          'Conflicted',
          `BackendTLSPolicy ${keyOfNamed(first.object)} is older and for Service ${service} too`,
        );
      const others = this.byService.get(service);
      if (others === undefined) this.byService.set(service, new Set([state]));
      else others.add(state);
    }
    this.all.push(state);
    this.byName.set(keyOfNamed(state.object), state);
  }
}

/** The Services, by `namespace/name`, that a policy is for. */
export const servicesOf = ({
  metadata: { namespace },
  spec,
}: BackendTLSPolicy): readonly { readonly service: string; readonly sectionName: string }[] =>
  spec.targetRefs.flatMap(({ group = '', kind = 'Service', name, sectionName = '' }) =>
    group === '' && kind === 'Service' ? [{ service: `${namespace}/${name}`, sectionName }] : [],
  );

function missingPort({ object }: PolicyState, service: Service): Problem | undefined {
  const key = keyOfNamed(service);
  const ports = service.spec?.ports ?? [];
  const missing = servicesOf(object).find(
    (target) =>
      target.service === key &&
      target.sectionName !== '' &&
      !ports.some(({ name }) => name === target.sectionName),
  );
  return missing === undefined
    ? undefined
    : problem('TargetNotFound', `Service ${key}: no port of it is called ${missing.sectionName}`);
}

function readPolicy(object: BackendTLSPolicy, { configMaps }: Lookup): PolicyState {
  const { validation, options = {} } = object.spec;
  const { caCertificateRefs = [], wellKnownCACertificates = '', hostname, subjectAltNames = [] } = validation;
  const texts: string[] = [];
  let unresolved: Problem | undefined;
  for (const { group = '', kind = 'ConfigMap', name } of caCertificateRefs) {
    const { namespace } = object.metadata;
    const what = written(kind, namespace, name);
    if (group !== '' || kind !== 'ConfigMap') {
      unresolved ??= problem('InvalidKind', `${what}: only a ConfigMap of the core group can be used`);
      continue;
    }
    const map = configMaps.get(`${namespace}/${name}`);
    const checked: Checked<string> =
      map === undefined ? { ok: false, why: 'there is none' } : authoritiesOf(map);
    if (checked.ok) texts.push(checked.value);
    else unresolved ??= problem('InvalidCACertificateRef', `${what}: ${checked.why}`);
  }
  const [option] = Object.keys(options);
  const invalid =
    option !== undefined
      ? problem('Invalid', `options: ${option} is not known`)
      : caCertificateRefs.length > 0
        ? texts.length > 0
          ? undefined
          : problem('NoValidCACertificate', 'no reference leads to authorities')
        : wellKnownCACertificates === 'System'
          ? undefined
          : problem('Invalid', 'neither caCertificateRefs nor wellKnownCACertificates: System');
  const names = subjectAltNames.flatMap(({ type, hostname: host, uri }) => {
    const name = type === 'URI' ? uri : host;
    return name === undefined || name === '' ? [] : [name];
  });
  const tls: BackendTls = {
    hostname,
    ...(texts.length === 0 ? {} : { root: { inline: texts.join('\n') } }),
    insecure: false,
    insecureHost: false,
    subjectAltNames: names,
    // With alternative names, the host name only chooses the certificate (BackendTLSPolicyValidation).
    ...(names.length === 0 ? {} : { subjectAltNamesOnly: true }),
  };
  return {
    object,
    tls: invalid === undefined ? tls : undefined,
    invalid,
    unresolved,
    conflict: undefined,
    uses: new Map(),
  };
}
