import type { Logger } from '../../telemetry/index.ts';
import type { Store } from '../../store/index.ts';
import { readEnvelope, type Envelope } from '../json/envelope.ts';
import { EndedMarks } from '../replicas/endedMarks.ts';
import { maxPeerText, Peers, type PeerMessage } from '../replicas/peers.ts';
import { StoredEvents, type SessionEvents } from '../replicas/storedEvents.ts';
import { principalMark } from './carriedState.ts';
import type { McpMetrics } from './mcpMetrics.ts';
import type { SessionSeal } from './sessionId.ts';

/** A session as other gateways know it. */
interface SharedSession {
  readonly id: string;
  readonly principal: string | undefined;
  readonly holder: string;
}

export interface OtherGatewaysOptions {
  readonly store: Store;
  readonly seal: SessionSeal;
  /** The lifetime of the events of a session, in milliseconds. */
  readonly eventsMs: number;
  /** The time after its beginning in which another gateway may continue a session, in milliseconds. */
  readonly resumableMs: number;
  readonly log: Logger;
  readonly now: () => number;
  readonly metrics: () => Pick<McpMetrics, 'storedEvents' | 'peerMessage'>;
}

/** The gateway that got the message holds the session. */
export interface PeerListener {
  /** The client took a request back at another gateway. */
  cancelled(sessionId: string, principal: Buffer, notification: Envelope): void;
  /** The session has ended at another gateway. */
  ended(sessionId: string, principal: Buffer): void;
}

const noPrincipal = Buffer.alloc(0);

/** The gateways that have the same session key and the same store, as the sessions of this one see them. */
export class OtherGateways {
  private readonly options: OtherGatewaysOptions;
  private readonly events: StoredEvents;
  private readonly peers: Peers;
  private readonly marks: EndedMarks;
  private listener: PeerListener | undefined;

  constructor(options: OtherGatewaysOptions) {
    this.options = options;
    const { store, seal, eventsMs, log, metrics, now } = options;
    const { owner } = seal;
    this.events = new StoredEvents({
      store,
      owner,
      ageMs: eventsMs,
      log,
      onWritten: (outcome, count) => metrics().storedEvents(outcome, count),
    });
    this.peers = new Peers({
      store,
      owner,
      key: seal.keyOf('peers', { local: '' }, noPrincipal),
      onMessage: (message) => this.heard(message),
      onTold: (outcome) => metrics().peerMessage(outcome),
    });
    this.marks = new EndedMarks(store, now);
  }

  listen(listener: PeerListener): void {
    this.listener = listener;
  }

  /**
   * Grows whenever messages of the others may have been lost: with each new connection to the store, and with each new one
   * that hears messages. 0 while there is no connection.
   */
  get connection(): number {
    const { connection, subscriptions } = this.options.store;
    return connection === 0 ? 0 : connection + subscriptions;
  }

  /** The place of the events of a session; undefined for an id that is none. */
  eventsOf({ id, holder, principal }: SharedSession): SessionEvents | undefined {
    const { seal } = this.options;
    const ticket = seal.open(id);
    const name = this.nameOf(id);
    if (ticket === undefined || name === undefined) return undefined;
    const key = seal.keyOf('events', ticket, principalMark(principal));
    return this.events.of({ name, holder: seal.nameFor('holder', holder), key });
  }

  /** The client takes back a request that no call of this gateway has. */
  cancel(session: SharedSession, { text }: Envelope): void {
    if (text.length > maxPeerText) return;
    this.peers.tell({ kind: 'cancel', ...addressOf(session), text });
  }

  /** The session is over, everywhere. Resolves (never rejects) when the store knows, or cannot be told now. */
  async end(session: SharedSession, beganAt: number): Promise<void> {
    const name = this.nameOf(session.id);
    if (name === undefined) return;
    const tell = (): void => this.peers.tell({ kind: 'ended', ...addressOf(session) });
    tell();
    await this.marks.add(name, {
      until: beganAt + this.options.resumableMs,
      keys: this.eventsOf(session)?.ownKeys ?? [],
      // Gateways that are connected again may have looked before.
      onLate: tell,
    });
  }

  /**
   * Tells which of the sessions have ended.
   * @throws StoreError (by the promise)
   */
  async endedAmong(ids: readonly string[]): Promise<readonly string[]> {
    const names = new Map(ids.flatMap((id) => [[this.nameOf(id) ?? '', id] as const]));
    const ended = await this.marks.among([...names.keys()]);
    return [...ended].map((name) => names.get(name)!);
  }

  /** Every few seconds. */
  tick(): void {
    this.marks.tick();
  }

  /** Resolves (never rejects) when the store knows that this gateway ends. */
  close(): Promise<void> {
    return this.events.close();
  }

  private nameOf(id: string): string | undefined {
    const { seal } = this.options;
    const ticket = seal.open(id);
    return ticket && seal.nameFor('session', ticket.local);
  }

  private heard({ kind, session, principal, text }: PeerMessage): void {
    const owner = Buffer.from(principal, 'hex');
    if (kind === 'ended') {
      this.listener?.ended(session, owner);
      return;
    }
    const notification = readEnvelope(text ?? '');
    if (typeof notification !== 'string') this.listener?.cancelled(session, owner, notification);
  }
}

const addressOf = ({ id, principal }: SharedSession): Pick<PeerMessage, 'session' | 'principal'> => ({
  session: id,
  principal: principalMark(principal).toString('hex'),
});
