import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { ClientCertificate } from '../../http/index.ts';

/** The TLS details of a connection, if it used TLS. */
export type Arrival = OwnArrival | ReportedArrival;

export interface OwnArrival {
  /** The connection below. */
  readonly raw: Socket;
  readonly secure: TLSSocket;
  /** The listener whose certificate was shown. */
  readonly listener: string;
}

/** Another worker has the connection, and has said what came of its handshake. */
export interface ReportedArrival {
  readonly secure?: undefined;
  readonly listener: string;
  readonly serverName: string | undefined;
  readonly certificate: ClientCertificate | undefined;
}

/** The server name that the client asked for (SNI), in lower case. */
export function serverNameOf(arrival: Arrival): string | undefined {
  if (arrival.secure === undefined) return arrival.serverName;
  const { servername } = arrival.secure as { servername?: string | false | null };
  return typeof servername === 'string' && servername !== '' ? servername.toLowerCase() : undefined;
}

/** The certificate that a client showed and that one of the listener's authorities has signed. */
export function clientCertificateOf(arrival: Arrival): ClientCertificate | undefined {
  const { secure } = arrival;
  if (secure === undefined) return arrival.certificate;
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
