import { createPrivateKey, generateKeyPairSync, randomBytes, sign, type KeyObject } from 'node:crypto';
import type { ServerTls } from '../model/index.ts';

/** A certificate with its key, both as PEM text. */
export interface Identity {
  readonly cert: string;
  readonly key: string;
}

export interface CertificateOptions {
  /** DNS names, addresses of IPv4 (`127.0.0.1`), or URIs (`spiffe://…`). */
  readonly names?: readonly string[];
  /** The issuer; the certificate signs itself unless given. */
  readonly by?: Identity & { readonly name: string };
  /** Common name. */
  readonly name?: string;
  readonly authority?: boolean;
  readonly from?: Date;
  readonly to?: Date;
  /** The length of an RSA key, in place of a key on P-256. Such a certificate needs an issuer. */
  readonly rsaBits?: number;
}

/** The TLS of a listener that shows a certificate, with the one suite that all tests can use. */
export const listenerTls = (
  { cert, key }: Identity,
  minVersion: ServerTls['minVersion'] = 'TLSv1.3',
): ServerTls => ({
  cert: { inline: cert },
  key: { inline: key },
  ciphers: ['TLS_AES_128_GCM_SHA256'],
  minVersion,
  maxVersion: 'TLSv1.3',
});

const day = 86_400_000;

/** An X.509 certificate (RFC 5280) with a key on P-256, made on the spot: tests need no OpenSSL and age well. */
export function certificate(options: CertificateOptions = {}): Identity {
  const { names = [], by, name = 'test', authority = false, rsaBits } = options;
  const { privateKey, publicKey } =
    rsaBits === undefined
      ? generateKeyPairSync('ec', { namedCurve: 'P-256' })
      : generateKeyPairSync('rsa', { modulusLength: rsaBits });
  const from = options.from ?? new Date(Date.now() - day);
  const to = options.to ?? new Date(Date.now() + 30 * day);
  const body = sequence(
    tag(0xa0, integer(Buffer.from([2]))),
    integer(Buffer.concat([Buffer.from([1]), randomBytes(8)])),
    ecdsaWithSha256,
    distinguished(by?.name ?? name),
    sequence(time(from), time(to)),
    distinguished(name),
    publicKey.export({ type: 'spki', format: 'der' }),
    tag(
      0xa3,
      sequence(
        extension('551d13', sequence(...(authority ? [tag(1, Buffer.from([255]))] : [])), true),
        ...(names.length === 0 ? [] : [extension('551d11', sequence(...names.map(alternative)), false)]),
      ),
    ),
  );
  const signer: KeyObject = by === undefined ? privateKey : createPrivateKey(by.key);
  const signature = sign('sha256', body, signer);
  const der = sequence(body, ecdsaWithSha256, tag(3, Buffer.concat([Buffer.from([0]), signature])));
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${der.toString('base64').replaceAll(/.{1,64}/g, '$&\n')}-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  };
}

/** An authority and what it signs. */
export function authority(name = 'test authority'): {
  readonly cert: string;
  issue(options: CertificateOptions): Identity;
} {
  const self = certificate({ name, authority: true });
  return { cert: self.cert, issue: (options) => certificate({ ...options, by: { ...self, name } }) };
}

// DER (X.690)

function tag(type: number, content: Buffer): Buffer {
  const { length } = content;
  const head =
    length < 128
      ? [type, length]
      : length < 256
        ? [type, 0x81, length]
        : [type, 0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from(head), content]);
}

const sequence = (...parts: readonly Buffer[]): Buffer => tag(0x30, Buffer.concat(parts));
const integer = (bytes: Buffer): Buffer => tag(2, bytes);
const oid = (hex: string): Buffer => tag(6, Buffer.from(hex, 'hex'));
const ecdsaWithSha256 = sequence(oid('2a8648ce3d040302'));
const distinguished = (name: string): Buffer =>
  sequence(tag(0x31, sequence(oid('550403'), tag(12, Buffer.from(name)))));
const time = (at: Date): Buffer =>
  tag(0x18, Buffer.from(`${at.toISOString().replaceAll(/[-:T]|\..*/g, '')}Z`));

const extension = (id: string, value: Buffer, critical: boolean): Buffer =>
  sequence(oid(id), ...(critical ? [tag(1, Buffer.from([255]))] : []), tag(4, value));

function alternative(name: string): Buffer {
  if (name.includes('://')) return tag(0x86, Buffer.from(name));
  if (/^\d+\.\d+\.\d+\.\d+$/.test(name)) return tag(0x87, Buffer.from(name.split('.').map(Number)));
  return tag(0x82, Buffer.from(name));
}
