import type { ItemRules } from '../items/itemRules.ts';
import type { ItemNameSource } from '../items/itemVisibility.ts';
import { readEnvelope, type RpcId } from '../json/envelope.ts';
import { changingLists, listChangedText } from './announcedLists.ts';
import type { CallAnswer } from './callAnswer.ts';
import { ClientStreams } from './clientStreams.ts';

/** The stream of one `subscriptions/listen` (MCP 2026-07-28, "Subscriptions"). */
export interface NewsListener {
  readonly itemRules: ItemRules | undefined;
  /** A notification of a server that belongs to no call. */
  hear(text: string, names: ItemNameSource | undefined): void;
  /** Every few seconds. */
  tick(now: number): void;
  end(): void;
}

function asksForRoots(text: string): boolean {
  const message = readEnvelope(text);
  return typeof message !== 'string' && message.method === 'roots/list';
}

/**
 * The streams of a session of the modern era. News goes to every client that listens for it; a question of a server goes
 * on a call, because nothing else of a modern client can answer it.
 */
export class ModernStreams extends ClientStreams {
  override resumable = false;
  private readonly listeners = new Set<NewsListener>();
  /** Streams that the gateway has ended, and whose clients have not come back yet. */
  private awaited = 0;
  /** Lists that have changed meanwhile. */
  private readonly missed = new Set<string>();

  override get open(): number {
    return this.listeners.size;
  }

  override get attached(): boolean {
    return this.listeners.size > 0 || super.attached;
  }

  override get reader(): { readonly itemRules: ItemRules | undefined } | undefined {
    return [...this.listeners].at(-1) ?? super.reader;
  }

  /** A client listens. @returns what ends that */
  listen(listener: NewsListener): () => void {
    this.listeners.add(listener);
    if (this.awaited > 0) {
      for (const list of this.missed) listener.hear(listChangedText(list), undefined);
      this.awaited--;
      if (this.awaited === 0) this.missed.clear();
    }
    return () => void this.listeners.delete(listener);
  }

  /** The gateway ends a stream. Its client may listen again, and then hears which lists have changed meanwhile. */
  endStream(listener: NewsListener): void {
    if (this.listeners.delete(listener)) this.awaited++;
    listener.end();
  }

  override deliver(
    text: string,
    kind: 'request' | 'log' | 'other',
    askedId?: RpcId,
    own?: CallAnswer,
    names?: ItemNameSource,
  ): void {
    if (askedId === undefined && kind === 'other') {
      if (this.awaited > 0) this.noteMissed(text);
      for (const listener of [...this.listeners]) listener.hear(text, names);
      return;
    }
    const answer = own?.takesEvents === true ? own : this.newestAnswer();
    if (answer !== undefined) this.give(answer, text, askedId, names);
    // Servers ask for the roots when a session begins; all other questions are about a call, which is over.
    else if (askedId !== undefined && asksForRoots(text)) this.outbox.hold({ text, askedId, names });
    else if (askedId !== undefined) this.onUndeliverable(askedId);
  }

  private noteMissed(text: string): void {
    const message = readEnvelope(text);
    if (typeof message === 'string') return;
    for (const list of changingLists)
      if (message.method === `notifications/${list}/list_changed`) this.missed.add(list);
  }

  override tick(now: number): void {
    super.tick(now);
    for (const listener of [...this.listeners]) listener.tick(now);
  }

  override close(): void {
    super.close();
    for (const listener of [...this.listeners]) listener.end();
  }
}
