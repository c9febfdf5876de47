import { isIP } from 'node:net';
import {
  checkServerIdentity,
  createSecureContext,
  type PeerCertificate,
  type SecureContext,
  type SecureContextOptions,
} from 'node:tls';
import { messageOf } from '../errorText.ts';
import type { BackendTls } from '../model/index.ts';
import type { Logger } from '../telemetry/index.ts';
import { PemFiles, pemCertificates, pemText } from './pemFiles.ts';
import { tlsProblem } from './tlsProblem.ts';

/** The settings that encrypt a connection, for `tls.connect`. */
export interface TlsOptions {
  readonly secureContext: SecureContext;
  readonly servername: string;
  readonly rejectUnauthorized: boolean;
  readonly checkServerIdentity: (host: string, certificate: PeerCertificate) => Error | undefined;
  readonly ALPNProtocols: readonly string[];
}

/**
 * The TLS settings of a backend with what their files hold. The files are looked at every second or so: a certificate
 * that was renewed is used by the next connection, one that cannot be read leaves the last good one in use.
 */
export class TlsMaterial {
  /** Counts what was read; a connection or session of another generation is not used again. */
  generation = 0;
  private readonly settings: BackendTls;
  private readonly host: string;
  private readonly log: Logger;
  private readonly files: PemFiles;
  private readonly rest: Omit<TlsOptions, 'secureContext'>;
  private context: SecureContext;

  /**
   * @param host of the backend: what the certificate must be for where `hostname` says nothing else
   * @throws Error naming the file that cannot be read or holds something else
   */
  constructor(settings: BackendTls, host: string, log: Logger) {
    this.settings = settings;
    this.host = host;
    this.log = log;
    this.files = new PemFiles([settings.root, settings.client?.cert, settings.client?.key]);
    const name = settings.hostname ?? host;
    this.rest = {
      // A server name is never an address (RFC 6066 §3); the certificate is compared with it all the same.
      servername: isIP(name) === 0 ? name : '',
      rejectUnauthorized: !settings.insecure,
      checkServerIdentity: (_asked, certificate) => this.checkIdentity(name, certificate),
      ALPNProtocols: settings.alpn ?? ['http/1.1'],
    };
    this.context = this.read();
  }

  options(): TlsOptions {
    return { ...this.rest, secureContext: this.context };
  }

  /** Reads the files again where they changed. Never rejects. @returns true when something else is in use now */
  async look(): Promise<boolean> {
    if (!(await this.files.changed())) return false;
    try {
      this.context = this.read();
    } catch (error) {
      const problem = messageOf(error);
      this.log.error('Backend TLS files rejected; the previous files stay in use', {
        backend: this.host,
        problem,
      });
      return false;
    }
    this.generation++;
    this.log.info('Backend TLS files reloaded', { backend: this.host });
    return true;
  }

  private read(): SecureContext {
    const { root, client, groups } = this.settings;
    const options: SecureContextOptions = {
      minVersion: 'TLSv1.2',
      ...(root === undefined ? {} : { ca: pemCertificates(root, 'backendTLS.root') }),
      ...(client === undefined
        ? {}
        : {
            cert: pemCertificates(client.cert, 'backendTLS.cert'),
            key: pemText(client.key, 'backendTLS.key'),
          }),
      ...(groups === undefined ? {} : { ecdhCurve: groups.join(':') }),
    };
    try {
      return createSecureContext(options);
    } catch (error) {
      // A key that is not that of the certificate, say.
      throw new Error(tlsProblem(error, 'backendTLS', client === undefined ? [] : [client]), {
        cause: error,
      });
    }
  }

  private checkIdentity(name: string, certificate: PeerCertificate): Error | undefined {
    const { insecureHost, subjectAltNames, subjectAltNamesOnly } = this.settings;
    if (insecureHost) return undefined;
    const problem =
      subjectAltNamesOnly === true
        ? new Error(`it holds none of the names ${subjectAltNames.join(', ')}`)
        : checkServerIdentity(name, certificate);
    if (problem === undefined) return undefined;
    const held = uris(certificate);
    const accepted = subjectAltNames.some((other) =>
      other.includes('://') ? held.has(other) : checkServerIdentity(other, certificate) === undefined,
    );
    return accepted ? undefined : problem;
  }
}

/** URIs among the alternative names. Commas within one are quoted by the platform (CVE-2021-44532). */
function uris(certificate: PeerCertificate): Set<string> {
  const text = certificate.subjectaltname ?? '';
  return new Set([...text.matchAll(/(?:^|, )URI:([^",]+)(?=,|$)/g)].map((match) => match[1] ?? ''));
}
