import { usualSuites } from '../../config/index.ts';
import type { ServerTls } from '../../model/index.ts';
import type { FrontendTls, Gateway, ListenerSpec, Reference } from '../types/index.ts';
import { problem, type Problem } from './conditions.ts';
import { written, type Party } from './grants.ts';
import { GATEWAY_GROUP, type Lookup } from './lookup.ts';
import { authoritiesOf, keyPairOf, lastKeyPairOf, type Checked, type KeyPair } from './pem.ts';
import { namespaceOf, type Owner } from './state.ts';

/** The TLS settings of a listener towards its clients. */
export interface ListenerTls {
  readonly tls?: ServerTls;
  readonly refused?: Problem;
  readonly unresolved?: Problem;
}

/** The side of TLS that ends here: certificates, and for HTTPS the authorities of client certificates. */
export function terminated(spec: ListenerSpec, owner: Owner, gateway: Gateway, lookup: Lookup): ListenerTls {
  const found = certificates(spec.tls?.certificateRefs ?? [], owner, lookup);
  const asked = spec.protocol === 'HTTPS' ? validationFor(gateway, spec.port) : undefined;
  const clients = asked === undefined ? undefined : authorities(asked, gateway, lookup);
  const unresolved = found.unresolved ?? clients?.unresolved;
  const problems = unresolved === undefined ? {} : { unresolved };
  if (clients !== undefined && clients.texts.length === 0)
    return {
      ...problems,
      refused: problem('NoValidCACertificate', 'no reference leads to authorities for client certificates'),
    };
  const [first, ...others] = found.pairs;
  if (first === undefined) return problems;
  return {
    ...problems,
    tls: {
      ...pemOf(first),
      ...(others.length === 0 ? {} : { more: others.map(pemOf) }),
      ...(clients === undefined ? {} : { root: { inline: clients.texts.join('\n') } }),
      ...(asked?.mode === 'AllowInsecureFallback' ? { rootOptional: true } : {}),
      ciphers: usualSuites,
      minVersion: 'TLSv1.2',
      maxVersion: 'TLSv1.3',
    },
  };
}

/** Does any port take clients without a valid certificate, as the Gateway is to say of itself? */
export function isInsecure({ spec }: Gateway): boolean {
  const { default: all, perPort = [] } = spec.tls?.frontend ?? {};
  return [all, ...perPort.map(({ tls }) => tls)].some(
    (tls) => tls?.validation?.mode === 'AllowInsecureFallback',
  );
}

const pemOf = ({ cert, key }: KeyPair): Pick<ServerTls, 'cert' | 'key'> => ({
  cert: { inline: cert },
  key: { inline: key },
});

interface Certificates {
  readonly pairs: readonly KeyPair[];
  readonly unresolved?: Problem;
}

function certificates(references: readonly Reference[], owner: Owner, lookup: Lookup): Certificates {
  const namespace = owner.object.metadata.namespace ?? '';
  const from: Party = { group: GATEWAY_GROUP, kind: owner.kind, namespace };
  const pairs: KeyPair[] = [];
  let unresolved: Problem | undefined;
  // A Secret that is named twice is one certificate all the same.
  const add = (pair: KeyPair): void => {
    if (!pairs.some(({ cert, key }) => cert === pair.cert && key === pair.key)) pairs.push(pair);
  };
  for (const reference of references) {
    const found = keyPairFor(reference, from, lookup, 'InvalidCertificateRef');
    if (!('reason' in found)) add(found);
    else {
      const { last, ...why } = found;
      unresolved ??=
        last === undefined
          ? why
          : problem(why.reason, `${why.message}; the certificate that it held before stays in use`);
      if (last !== undefined) add(last);
    }
  }
  if (references.length === 0) unresolved = problem('InvalidCertificateRef', 'tls.certificateRefs is empty');
  return { pairs, ...(unresolved === undefined ? {} : { unresolved }) };
}

/** The reason why a reference leads to no certificate, and the pair it led to before its Secret was broken. */
interface Unusable extends Problem {
  readonly last?: KeyPair;
}

/**
 * The certificate that a reference leads to.
 * @param invalid the reason where it leads nowhere
 */
export function keyPairFor(
  reference: Reference,
  from: Party,
  { grants, secrets }: Lookup,
  invalid: string,
): KeyPair | Unusable {
  const { group = '', kind = 'Secret', name } = reference;
  const namespace = namespaceOf(reference, from.namespace);
  const what = written(kind, namespace, name);
  if (group !== '' || kind !== 'Secret')
    return problem(invalid, `${what}: only a Secret of the core group can be used`);
  if (!grants.permit(from, { group, kind, namespace }, name))
    return problem('RefNotPermitted', `${what}: no ReferenceGrant allows it`);
  const secret = secrets.get(`${namespace}/${name}`);
  const checked: Checked<KeyPair> =
    secret === undefined ? { ok: false, why: 'there is none' } : keyPairOf(secret);
  if (checked.ok) return checked.value;
  const last = secret === undefined ? undefined : lastKeyPairOf(secret);
  return { ...problem(invalid, `${what}: ${checked.why}`), ...(last === undefined ? {} : { last }) };
}

/** The demands of a port on client certificates; its own setting replaces that of all ports. */
function validationFor({ spec }: Gateway, port: number): FrontendTls['validation'] {
  const frontend = spec.tls?.frontend;
  const own = frontend?.perPort?.find((one) => one.port === port);
  return own === undefined ? frontend?.default.validation : own.tls.validation;
}

function authorities(
  { caCertificateRefs }: NonNullable<FrontendTls['validation']>,
  gateway: Gateway,
  { grants, configMaps }: Lookup,
): { readonly texts: readonly string[]; readonly unresolved?: Problem } {
  const own = gateway.metadata.namespace ?? '';
  const from: Party = { group: GATEWAY_GROUP, kind: 'Gateway', namespace: own };
  const texts: string[] = [];
  let unresolved: Problem | undefined;
  for (const reference of caCertificateRefs) {
    const { group = '', kind = 'ConfigMap', name } = reference;
    const namespace = namespaceOf(reference, own);
    const what = written(kind, namespace, name);
    if (group !== '' || kind !== 'ConfigMap')
      unresolved ??= problem(
        'InvalidCACertificateKind',
        `${what}: only a ConfigMap of the core group can be used`,
      );
    else if (!grants.permit(from, { group, kind, namespace }, name))
      unresolved ??= problem('RefNotPermitted', `${what}: no ReferenceGrant allows it`);
    else {
      const map = configMaps.get(`${namespace}/${name}`);
      const checked: Checked<string> =
        map === undefined ? { ok: false, why: 'there is none' } : authoritiesOf(map);
      if (checked.ok) texts.push(checked.value);
      else unresolved ??= problem('InvalidCACertificateRef', `${what}: ${checked.why}`);
    }
  }
  return { texts, ...(unresolved === undefined ? {} : { unresolved }) };
}
