import { createHash, hkdfSync, X509Certificate } from 'node:crypto';
import type { Socket } from 'node:net';
import { createServer, type SecureContextOptions, type Server, type TLSSocket } from 'node:tls';
import { messageOf } from '../../errorText.ts';
import { isOfTls13, type ServerTls } from '../../model/index.ts';
import type { Logger } from '../../telemetry/index.ts';
import { PemFiles, pemCertificates, pemText, tlsProblem } from '../../upstream/index.ts';

/** The length that `setTicketKeys` of Node takes: a name, and keys to sign and to encrypt, of 16 bytes each. */
const TICKET_KEYS_LENGTH = 48;

/** Waits for the end of a handshake. Exactly one of these is called, once. */
export interface Handshaking {
  /** @param terms under which the handshake was made */
  established(socket: TLSSocket, terms: string): void;
  /** @param reason for the log */
  failed(reason: string): void;
}

/** The view of an identity from outside. */
export interface IdentityView {
  /** The file of the certificate, or `inline`. */
  readonly certificate: string;
  /** `stale`: its files changed to something that cannot be used; `broken`: they never held anything else. */
  readonly state: 'ready' | 'stale' | 'broken';
  readonly problem: string | undefined;
  /** End of the certificate's lifetime, as `Date.now()` has it. */
  readonly expiresAt: number | undefined;
}

/**
 * A certificate with its key as clients see it, and the handshakes under it. The files are looked at every second or
 * so: a certificate that was renewed is shown to the next connection; files that cannot be used leave the last good
 * ones in use, and nobody is let in where there never were any.
 */
export class ServerIdentity {
  private readonly settings: ServerTls;
  private readonly protocols: readonly string[];
  private readonly log: Logger;
  private readonly files: PemFiles;
  /** Handshakes under way, by the two ends of their connections. */
  private readonly waiting = new Map<string, Handshaking>();
  /** Never listens: connections are handed to it. Each reading of the files has one of its own. */
  private server: Server | undefined;
  /** Stands for everything a client was let in by; sessions of another fingerprint are not resumed. */
  private fingerprint = '';
  private termsInUse: string | undefined;
  private problem: string | undefined;
  private expiresAt: number | undefined;
  private ticketSecret: Buffer | undefined;

  /** @param protocols offered by ALPN; none at all where the list is empty */
  constructor(settings: ServerTls, protocols: readonly string[], log: Logger, ticketSecret?: Buffer) {
    this.settings = settings;
    this.protocols = protocols;
    this.log = log;
    this.ticketSecret = ticketSecret;
    const further = (settings.more ?? []).flatMap(({ cert, key }) => [cert, key]);
    this.files = new PemFiles([settings.cert, settings.key, settings.root, ...further]);
    this.load();
  }

  get view(): IdentityView {
    const { problem, expiresAt } = this;
    return {
      certificate: this.name,
      state: problem === undefined ? 'ready' : this.server === undefined ? 'broken' : 'stale',
      problem,
      expiresAt,
    };
  }

  /** The terms of the next handshake. */
  get terms(): string | undefined {
    return this.termsInUse;
  }

  /** Begins the handshake of a connection from which nothing was taken yet. */
  accept(socket: Socket, handshaking: Handshaking): void {
    if (this.server === undefined) {
      handshaking.failed('there is no usable certificate');
      return;
    }
    const key = endsOf(socket);
    this.waiting.set(key, handshaking);
    socket.once('close', () => this.settle(key)?.failed('the client left'));
    this.server.emit('connection', socket);
  }

  /** Reads the files again where they changed. Never rejects. @returns true if the terms changed with them */
  async look(): Promise<boolean> {
    const { terms } = this;
    if (!(await this.files.changed()) || !this.load()) return false;
    this.log.info('Certificate reloaded', { certificate: this.name });
    return this.terms !== terms;
  }

  /** From now on tickets are made, and read, with keys of this secret. */
  useTicketSecret(secret: Buffer): void {
    this.ticketSecret = secret;
    this.setTicketKeys();
  }

  /**
   * Keys of our own for each fingerprint: a session that began with one certificate, or without a client certificate,
   * cannot be brought to a listener that asks for more.
   */
  private setTicketKeys(): void {
    const { server, ticketSecret } = this;
    if (server === undefined || ticketSecret === undefined) return;
    const about = `portcullis tls tickets 1 ${this.fingerprint}`;
    server.setTicketKeys(Buffer.from(hkdfSync('sha256', ticketSecret, '', about, TICKET_KEYS_LENGTH)));
  }

  private get name(): string {
    return 'file' in this.settings.cert ? this.settings.cert.file : 'inline';
  }

  private load(): boolean {
    try {
      const { cert, key, more = [], root, rootOptional } = this.settings;
      const { ciphers, minVersion, maxVersion, groups } = this.settings;
      const chain = pemCertificates(cert, 'tls.cert');
      const further = more.map((pair) => ({
        cert: pemCertificates(pair.cert, 'tls.cert'),
        key: pemText(pair.key, 'tls.key'),
      }));
      const ca = root === undefined ? undefined : pemCertificates(root, 'tls.root');
      const fingerprint = digest([chain, ca ?? null, further.map((pair) => pair.cert), this.settings]);
      const terms = digest([
        ca ?? null,
        rootOptional ?? false,
        ciphers,
        minVersion,
        maxVersion,
        groups ?? null,
      ]);
      const first = { cert: chain, key: pemText(key, 'tls.key') };
      const context: SecureContextOptions = {
        ...(ca === undefined ? {} : { ca }),
        // Node takes the arguments of the process, which workers of one gateway need not have in common.
        sessionIdContext: fingerprint.slice(0, 32),
        ...(groups === undefined ? {} : { ecdhCurve: groups.join(':') }),
        ciphers: ciphers.join(':'),
        honorCipherOrder: true,
        minVersion,
        // OpenSSL lists the suites of TLS 1.3 apart, and accepts all of them where this list names none.
        maxVersion: ciphers.some(isOfTls13) ? maxVersion : 'TLSv1.2',
      };
      const server = this.serverWith(context, first, further);
      server.on('secureConnection', (socket) => {
        // OpenSSL notes why a client certificate is not believed, and takes the note for a failure of the next read.
        // Looking at the certificate wipes it off.
        if (rootOptional === true && !socket.authorized) socket.getPeerX509Certificate();
        const handshaking = this.settle(endsOf(socket));
        if (handshaking === undefined) socket.destroy();
        else handshaking.established(socket, terms);
      });
      server.on('tlsClientError', (error: NodeJS.ErrnoException, socket) => {
        this.settle(endsOf(socket))?.failed(error.code ?? error.message);
        socket.destroy();
      });
      this.expiresAt = new X509Certificate(chain).validToDate.getTime();
      this.server = server;
      this.fingerprint = fingerprint;
      this.termsInUse = terms;
      this.setTicketKeys();
      this.problem = undefined;
      return true;
    } catch (error) {
      this.problem = messageOf(error);
      this.log.error(
        this.server === undefined
          ? 'Listener certificate rejected; its connections are refused'
          : 'Listener certificate rejected; the previous certificate stays in use',
        { certificate: this.name, problem: this.problem },
      );
      return false;
    }
  }

  /** @throws Error that names the file which cannot be used */
  private serverWith(context: SecureContextOptions, first: KeyPair, further: readonly KeyPair[]): Server {
    const { root, rootOptional, more = [] } = this.settings;
    try {
      const server = createServer({
        ...context,
        ...first,
        ...(root === undefined ? {} : { requestCert: true, rejectUnauthorized: rootOptional !== true }),
        ...(this.protocols.length === 0 ? {} : { ALPNProtocols: [...this.protocols] }),
        // The port's own clock ends what takes too long.
        handshakeTimeout: 0,
      });
      if (further.length > 0)
        for (const [name, pair] of byName([first, ...further]))
          server.addContext(name, { ...context, ...pair });
      return server;
    } catch (error) {
      throw new Error(tlsProblem(error, 'tls', [this.settings, ...more]), { cause: error });
    }
  }

  private settle(key: string): Handshaking | undefined {
    const handshaking = this.waiting.get(key);
    this.waiting.delete(key);
    return handshaking;
  }
}

const digest = (of: readonly unknown[]): string =>
  createHash('sha256').update(JSON.stringify(of)).digest('hex');

interface KeyPair {
  readonly cert: string;
  readonly key: string;
}

/**
 * Assigns a key pair to each name. Node takes the last one that fits: wildcards come before whole names, which
 * fit better, and of several with one name the first stays.
 */
function byName(pairs: readonly KeyPair[]): readonly (readonly [name: string, pair: KeyPair])[] {
  const names = new Map<string, KeyPair>();
  for (const pair of pairs) {
    const { subjectAltName = '' } = new X509Certificate(pair.cert);
    for (const [, name = ''] of subjectAltName.matchAll(/DNS:([^,"\s]+)/g))
      if (!names.has(name.toLowerCase())) names.set(name.toLowerCase(), pair);
  }
  const rank = (name: string): number => (name.startsWith('*.') ? name.length : Number.MAX_SAFE_INTEGER);
  return [...names].sort(([a], [b]) => rank(a) - rank(b));
}

/** All identities of the process, shared over snapshots so that a reload keeps sessions and files in view. */
export class ServerIdentities {
  private readonly byContent = new Map<string, ServerIdentity>();
  private readonly log: Logger;
  private readonly timer: NodeJS.Timeout;
  private readonly termsChanged: () => void;
  private ticketSecret: Buffer | undefined;

  /**
   * @param termsChanged runs when the files of a listener, and therefore its terms, have changed
   * @param lookMs how often the files are looked at
   */
  constructor(log: Logger, termsChanged: () => void, lookMs = 1_000) {
    this.log = log;
    this.termsChanged = termsChanged;
    this.timer = setInterval(() => {
      for (const identity of this.byContent.values()) void this.look(identity);
    }, lookMs);
    this.timer.unref();
  }

  get views(): readonly IdentityView[] {
    return [...this.byContent.values()].map(({ view }) => view);
  }

  /** ALPN chooses between the versions of HTTP. */
  useForHttp(settings: ServerTls): ServerIdentity {
    return this.use(settings, ['h2', 'http/1.1']);
  }

  use(settings: ServerTls, protocols: readonly string[]): ServerIdentity {
    const key = JSON.stringify([settings, protocols]);
    let identity = this.byContent.get(key);
    if (identity === undefined) {
      identity = new ServerIdentity(settings, protocols, this.log, this.ticketSecret);
      this.byContent.set(key, identity);
    }
    return identity;
  }

  /**
   * Tickets of TLS sessions are made and read with keys of this secret, so that processes that have it in common
   * resume each other's sessions. Without one each certificate has random keys. Tickets of the secret before are not
   * read any more: their clients make a full handshake.
   * @param secret 32 random bytes
   */
  useTicketSecret(secret: Buffer): void {
    this.ticketSecret = secret;
    for (const identity of this.byContent.values()) identity.useTicketSecret(secret);
  }

  /** After a reload: forgets what no listener shows any more. */
  retireOthers(live: ReadonlySet<ServerIdentity>): void {
    for (const [key, identity] of this.byContent) if (!live.has(identity)) this.byContent.delete(key);
  }

  close(): void {
    clearInterval(this.timer);
  }

  private async look(identity: ServerIdentity): Promise<void> {
    if (await identity.look()) this.termsChanged();
  }
}

/** Tells one connection from all others that are open. */
const endsOf = ({ remoteAddress, remotePort, localAddress, localPort }: Socket): string =>
  [remoteAddress, remotePort, localAddress, localPort].join(' ');
