import { script, type Store } from '../../store/index.ts';
import { TextSeal } from './sealing.ts';

/** A message to the other gateways that may hold a session. */
export interface PeerMessage {
  /** `cancel`: the client takes a request back. `ended`: the session is over. */
  readonly kind: 'cancel' | 'ended';
  /** The id of the session. */
  readonly session: string;
  /** The owner of the session, as hexadecimal digits. */
  readonly principal: string;
  /** The notification of the client. */
  readonly text?: string;
}

export interface PeersOptions {
  readonly store: Store;
  /** Names this process. */
  readonly owner: string;
  /** 32 bytes that all gateways with the session key have. */
  readonly key: Buffer;
  readonly onMessage: (message: PeerMessage) => void;
  readonly onTold: (outcome: 'sent' | 'lost') => void;
}

const channel = 'mcp:peers';
/** The place at which messages are sealed. */
const place = 'message';
/** Messages on their way to the store: a client must not fill it with notifications about nothing. */
const maxPending = 256;
/** Characters of a notification that is passed on. */
export const maxPeerText = 8_192;

/** KEYS: channel. ARGV: text. Answers how many processes heard it. */
const publishScript = script('sessions', `return redis.call('PUBLISH', KEYS[1], ARGV[1])`);

/** The other gateways with the same key and store. Messages to them are encrypted; whoever does not listen misses them. */
export class Peers {
  private readonly options: PeersOptions;
  private readonly seal: TextSeal;
  private pending = 0;

  constructor(options: PeersOptions) {
    this.options = options;
    this.seal = new TextSeal(options.key);
    options.store.subscribe(channel, (text) => this.heard(text));
  }

  /** Does not wait for the store. */
  tell(message: PeerMessage): void {
    const { store, owner, onTold } = this.options;
    if (this.pending >= maxPending) {
      onTold('lost');
      return;
    }
    this.pending++;
    const text = this.seal.seal(place, JSON.stringify({ ...message, from: owner }));
    store
      .run(publishScript, [channel], [text])
      .then(
        () => onTold('sent'),
        () => onTold('lost'),
      )
      .finally(() => this.pending--);
  }

  private heard(sealed: string): void {
    const text = this.seal.open(place, sealed);
    // Only a gateway with the key can write one.
    if (text === undefined) return;
    const { from, ...message } = JSON.parse(text) as PeerMessage & { readonly from: string };
    if (from !== this.options.owner) this.options.onMessage(message);
  }
}
