import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  randomBytes,
  sign,
  X509Certificate,
} from 'node:crypto';
import { isIP } from 'node:net';
import { AsnConvert, OctetString } from '@peculiar/asn1-schema';
import {
  AlgorithmIdentifier,
  AttributeTypeAndValue,
  AttributeValue,
  AuthorityKeyIdentifier,
  BasicConstraints,
  Certificate,
  ExtendedKeyUsage,
  Extension,
  Extensions,
  GeneralName,
  id_ce_authorityKeyIdentifier,
  id_ce_basicConstraints,
  id_ce_extKeyUsage,
  id_ce_keyUsage,
  id_ce_subjectAltName,
  id_ce_subjectKeyIdentifier,
  id_kp_serverAuth,
  KeyIdentifier,
  KeyUsage,
  KeyUsageFlags,
  Name,
  RelativeDistinguishedName,
  SubjectAlternativeName,
  SubjectKeyIdentifier,
  SubjectPublicKeyInfo,
  TBSCertificate,
  Time,
  Validity,
  Version,
} from '@peculiar/asn1-x509';

/** A certificate with its key, both in the PEM form. */
export interface Identity {
  readonly cert: string;
  readonly key: string;
}

interface Lifetime {
  readonly notBefore: Date;
  readonly notAfter: Date;
}

const commonName = '2.5.4.3';
const ecdsaWithSha256 = '1.2.840.10045.4.3.2';

/** A new authority (RFC 5280): its certificate signs itself, and may sign those of servers, no further authorities. */
export function newAuthority(name: string, lifetime: Lifetime): Identity {
  return issue({ subject: name, authority: true, lifetime });
}

/** A certificate for a server. @param names of hosts, or addresses */
export function newServer(names: readonly string[], by: Identity, lifetime: Lifetime): Identity {
  return issue({ subject: names[0] ?? '', names, by, authority: false, lifetime });
}

/** Is a certificate for exactly these hosts and addresses? */
export function isFor(cert: string, names: readonly string[]): boolean {
  const certificate = new X509Certificate(cert);
  const known = certificate.subjectAltName?.split(', ').length ?? 0;
  return (
    known === names.length &&
    names.every((name) =>
      isIP(name) === 0
        ? certificate.checkHost(name, { wildcards: false, subject: 'never' }) !== undefined
        : certificate.checkIP(name) !== undefined,
    )
  );
}

export function lifetimeOf(cert: string): Lifetime {
  const { validFromDate, validToDate } = new X509Certificate(cert);
  return { notBefore: validFromDate, notAfter: validToDate };
}

/** Can both be read, do they belong together, and has `authority` signed the certificate? */
export function isSignedBy({ cert, key }: Identity, authority: string): boolean {
  try {
    const certificate = new X509Certificate(cert);
    return (
      certificate.checkPrivateKey(createPrivateKey(key)) &&
      certificate.verify(new X509Certificate(authority).publicKey)
    );
  } catch {
    return false;
  }
}

interface Issue {
  readonly subject: string;
  readonly names?: readonly string[];
  /** Signs itself unless given. */
  readonly by?: Identity;
  readonly authority: boolean;
  readonly lifetime: Lifetime;
}

function issue({ subject, names = [], by, authority, lifetime }: Issue): Identity {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const spki = publicKey.export({ type: 'spki', format: 'der' });
  const signer = by === undefined ? privateKey : createPrivateKey(by.key);
  const issuer = by === undefined ? undefined : parsed(by.cert);
  const algorithm = new AlgorithmIdentifier({ algorithm: ecdsaWithSha256 });
  const signerSpki = createPublicKey(signer).export({ type: 'spki', format: 'der' });
  const body = new TBSCertificate({
    version: Version.v3,
    // Positive, and not to be guessed (RFC 5280 §4.1.2.2).
    serialNumber: bytes(Buffer.concat([Buffer.from([1]), randomBytes(15)])),
    signature: algorithm,
    issuer: issuer?.tbsCertificate.subject ?? nameOf(subject),
    validity: validity(lifetime),
    subject: nameOf(subject),
    subjectPublicKeyInfo: AsnConvert.parse(spki, SubjectPublicKeyInfo),
    extensions: new Extensions([
      extension(
        id_ce_basicConstraints,
        new BasicConstraints(authority ? { cA: true, pathLenConstraint: 0 } : {}),
        true,
      ),
      extension(
        id_ce_keyUsage,
        new KeyUsage(
          authority ? KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign : KeyUsageFlags.digitalSignature,
        ),
        true,
      ),
      extension(id_ce_subjectKeyIdentifier, new SubjectKeyIdentifier(keyIdentifier(spki))),
      extension(
        id_ce_authorityKeyIdentifier,
        new AuthorityKeyIdentifier({ keyIdentifier: new KeyIdentifier(keyIdentifier(signerSpki)) }),
      ),
      ...(authority ? [] : [extension(id_ce_extKeyUsage, new ExtendedKeyUsage([id_kp_serverAuth]))]),
      ...(names.length === 0
        ? []
        : [extension(id_ce_subjectAltName, new SubjectAlternativeName(names.map(alternative)))]),
    ]),
  });
  const signature = sign('sha256', Buffer.from(AsnConvert.serialize(body)), signer);
  const certificate = new Certificate({
    tbsCertificate: body,
    signatureAlgorithm: algorithm,
    signatureValue: bytes(signature),
  });
  return {
    cert: new X509Certificate(Buffer.from(AsnConvert.serialize(certificate))).toString(),
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
  };
}

const parsed = (cert: string): Certificate => AsnConvert.parse(new X509Certificate(cert).raw, Certificate);

/** Names longer than 64 characters (RFC 5280, upper bound of a common name) go by their beginning. */
const nameOf = (text: string): Name =>
  new Name([
    new RelativeDistinguishedName([
      new AttributeTypeAndValue({
        type: commonName,
        value: new AttributeValue({ utf8String: text.slice(0, 64) }),
      }),
    ]),
  ]);

/** Up to 2049 in the form that RFC 5280 §4.1.2.5 wants, in whole seconds. */
function validity({ notBefore, notAfter }: Lifetime): Validity {
  const value = new Validity();
  value.notBefore = new Time(notBefore);
  value.notAfter = new Time(notAfter);
  return value;
}

const extension = (id: string, value: unknown, critical = false): Extension =>
  new Extension({ extnID: id, critical, extnValue: new OctetString(AsnConvert.serialize(value)) });

/** RFC 7093 §2, method 1. */
const keyIdentifier = (spki: Buffer): ArrayBuffer =>
  bytes(createHash('sha256').update(spki).digest().subarray(0, 20));

const alternative = (name: string): GeneralName =>
  new GeneralName(isIP(name) === 0 ? { dNSName: name } : { iPAddress: name });

/** An ArrayBuffer of its own: a small Buffer shares one with others. */
const bytes = (buffer: Buffer): ArrayBuffer => new Uint8Array(buffer).buffer;
