import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { ClientCertificate } from '../../http/index.ts';

/** The TLS details of a connection, if it used TLS. */
export type TlsDetails = TerminatedTls | ReportedTls;

export interface TerminatedTls {
  /** The connection below. */
  readonly raw: Socket;
  readonly secure: TLSSocket;
  /** The listener whose certificate was shown. */
  readonly listener: string;
  /** The terms under which the handshake was made. */
  readonly terms: string;
  /** The server name that the client asked for (SNI), in lower case. */
  readonly serverName: string | undefined;
}

/** Another worker has the connection, and has said what came of its handshake. */
export interface ReportedTls {
  readonly secure?: undefined;
  readonly listener: string;
  readonly terms: string | undefined;
  readonly serverName: string | undefined;
  readonly certificate: ClientCertificate | undefined;
}

/**
 * The terms of a listener's handshakes: a digest of its settings for client certificates, versions and ciphers, without
 * its own certificate. Undefined while the listener has no usable files, and therefore ends every handshake.
 */
export interface HandshakeTerms {
  readonly terms: string | undefined;
}

/**
 * Tells whether a handshake of this listener, with its present terms, would have let the connection in.
 * A reload may give the name of a listener to another one, because unnamed listeners are counted.
 */
export const isOf = (
  tls: TlsDetails,
  listener: { readonly name: string; readonly handshake?: HandshakeTerms | undefined },
): boolean => tls.listener === listener.name && tls.terms === listener.handshake?.terms;

/** The certificate that a client showed and that one of the listener's authorities has signed. */
export function clientCertificateOf(tls: TlsDetails): ClientCertificate | undefined {
  const { secure } = tls;
  if (secure === undefined) return tls.certificate;
  const certificate = secure.authorized ? secure.getPeerX509Certificate() : undefined;
  if (certificate === undefined) return undefined;
  const { subject, issuer, subjectAltName } = certificate;
  return {
    subject: oneLine(subject),
    issuer: oneLine(issuer),
    subjectCn: /^CN=(.*)$/m.exec(subject)?.[1],
    subjectAltNames: alternativeNames(subjectAltName ?? ''),
    pem: certificate.toString(),
  };
}

/** The platform gives one attribute a line. */
const oneLine = (name: string): string => name.trim().split('\n').join(', ');

/** `DNS:a, URI:b`; values with a comma or quote stand in quotes (CVE-2021-44532). */
const alternativeNames = (text: string): string[] =>
  Array.from(text.matchAll(/(?:^|, )[A-Za-z ]+:("(?:[^"\\]|\\.)*"|[^,]*)/g), ([, value = '']) =>
    value.startsWith('"') ? (JSON.parse(value) as string) : value,
  );
