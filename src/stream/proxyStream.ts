import { messageOf } from '../errorText.ts';
import type { ModelVersion } from './modelVersion.ts';
import type { LineStream } from './lineStream.ts';
import type { PartName } from './parts.ts';
import { readToController, WireError, written, writtenEndpoints, writtenPart, type Flaws } from './wire.ts';

/** The answer of a proxy to the model that it was sent. */
export type Answer =
  | ({ readonly version: string; readonly result: 'taken' } & Flaws)
  | { readonly version: string; readonly result: 'refused'; readonly problems: readonly string[] };

export interface ProxyStreamOptions {
  readonly lines: LineStream;
  /** Milliseconds for the proxy to say what it has, and to take something into use. */
  readonly answerMs: number;
  readonly onAnswer: (answer: Answer) => void;
  readonly onSent: (lines: number, bytes: number) => void;
}

/** Lists of addresses that a proxy may say it has. */
const maxLists = 100_000;

/**
 * The controller's end of one stream. At most one edition is under way: what changes while a proxy is busy, or slow,
 * comes with the newest one after it, so that nothing queues up.
 */
export class ProxyStream {
  private readonly options: ProxyStreamOptions;
  private edition: ModelVersion | undefined;
  /** The reason why there is none. */
  private reason = '';
  /** The parts that the proxy has: of its own account at first, then the edition that it was sent last. */
  private parts: Pick<ReadonlySet<PartName>, 'has'>;
  private lists: ReadonlyMap<string, { readonly name: PartName }>;
  private readonly said = {
    parts: new Set<PartName>(),
    lists: new Map<string, { readonly name: PartName }>(),
  };
  private ready = false;
  /** The last message to the proxy: a version, or the reason why there is none. */
  private told: string | undefined;
  /** The version whose answer is awaited. */
  private awaited: string | undefined;
  private pushing = false;
  private deadline: NodeJS.Timeout | undefined;
  private ended = false;

  constructor(options: ProxyStreamOptions) {
    this.options = options;
    this.parts = this.said.parts;
    this.lists = this.said.lists;
    this.awaitAnswer();
  }

  /** The newest edition; undefined where there is none, and why. */
  publish(edition: ModelVersion | undefined, reason: string): void {
    this.edition = edition;
    this.reason = reason;
    void this.push();
  }

  /** Hears the proxy out. Resolves (never rejects) with why the stream has ended. */
  async hear(): Promise<string> {
    try {
      for await (const line of this.options.lines.lines()) this.take(line);
      return 'the proxy has closed it';
    } catch (error) {
      return messageOf(error);
    } finally {
      this.ended = true;
      clearTimeout(this.deadline);
      this.options.lines.destroy();
    }
  }

  private take(line: string): void {
    const message = readToController(line);
    switch (message.type) {
      case 'have':
        this.note(message.parts, message.endpoints);
        break;
      case 'ready':
        this.ready = true;
        clearTimeout(this.deadline);
        void this.push();
        break;
      case 'taken':
      case 'refused':
        if (message.version !== this.awaited) throw new WireError('an unexpected answer');
        this.awaited = undefined;
        clearTimeout(this.deadline);
        this.options.onAnswer(
          message.type === 'taken'
            ? {
                version: message.version,
                result: 'taken',
                broken: message.broken ?? [],
                closed: message.closed ?? [],
              }
            : { version: message.version, result: 'refused', problems: message.problems },
        );
        void this.push();
        break;
      case 'beat':
        break;
    }
  }

  private note(parts: readonly PartName[], lists: readonly (readonly [string, PartName])[]): void {
    if (this.ready) throw new WireError('the list of known parts came twice');
    // Parts that are not in use any more are ignored: so a proxy cannot make this grow.
    for (const name of parts) if (this.edition?.parts.texts.has(name) === true) this.said.parts.add(name);
    for (const [key, name] of lists) this.said.lists.set(key, { name });
    if (this.said.lists.size > maxLists) throw new WireError('too many lists of addresses');
  }

  /** Sends what the proxy has not. Never rejects. */
  private async push(): Promise<void> {
    if (this.pushing || !this.ready) return;
    this.pushing = true;
    try {
      while (!this.ended && this.awaited === undefined) {
        const { edition, reason } = this;
        const telling = edition?.version ?? `none: ${reason}`;
        if (telling === this.told) return;
        this.told = telling;
        if (edition === undefined) await this.send(written({ type: 'none', reason }));
        else await this.sendEdition(edition);
      }
    } catch {
      // The stream is closed, and `hear` says why.
    } finally {
      this.pushing = false;
    }
  }

  private async sendEdition({ version, parts, endpoints }: ModelVersion): Promise<void> {
    let count = 0;
    let bytes = 0;
    const send = async (line: string): Promise<void> => {
      count++;
      bytes += line.length;
      await this.send(line);
    };
    for (const [name, text] of parts.texts) if (!this.parts.has(name)) await send(writtenPart(text));
    for (const [key, { name, text }] of endpoints)
      if (this.lists.get(key)?.name !== name) await send(writtenEndpoints(key, text));
    for (const key of this.lists.keys()) if (!endpoints.has(key)) await send(written({ type: 'gone', key }));
    // From here on the proxy has exactly this: it lets go of everything else when it is complete.
    this.parts = parts.texts;
    this.lists = endpoints;
    this.awaited = version;
    this.awaitAnswer();
    this.options.onSent(count, bytes);
    await this.send(written({ type: 'complete', version, root: parts.root }));
  }

  private async send(line: string): Promise<void> {
    await this.options.lines.send(line);
  }

  private awaitAnswer(): void {
    clearTimeout(this.deadline);
    const { answerMs, lines } = this.options;
    this.deadline = setTimeout(() => lines.destroy('the proxy does not answer'), answerMs);
    this.deadline.unref();
  }
}
