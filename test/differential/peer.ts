import { until } from '../../src/until.testing.ts';
import { usualResult } from './answers.ts';
import type { Names } from './names.ts';
import { folderMark, type Heard, type OwnAnswers } from './subject.ts';
import { Writer, type Line, type Transcript } from './transcript.ts';
import type { Stream, Wire } from './wire.ts';

export interface Message {
  readonly id?: string | number | null;
  readonly method?: string;
  readonly params?: Readonly<Record<string, unknown>>;
  readonly result?: Readonly<Record<string, unknown>>;
  readonly error?: { readonly code: number; readonly message: string };
}

export interface PeerOptions {
  /** Takes the place of the mark in everything that is sent. */
  readonly folder: string;
  readonly names: Names;
  readonly roots: readonly { readonly uri: string; readonly name: string }[];
}

/** A request whose answer has not been waited for. */
export interface Asked {
  readonly id: string | number;
  readonly answer: Promise<Message>;
}

/** A client that writes down everything that it sees. */
export class Peer {
  private readonly wire: Wire;
  private readonly options: PeerOptions;
  private readonly writer: Writer;
  private readonly waiting = new Map<string | number, (text: string) => void>();
  private readonly answers: Line[] = [];
  private readonly heard: Line[] = [];
  private readonly counts = new Map<string, number>();
  private ownAnswers: OwnAnswers = {};
  private lastId = 0;

  /** @param connect starts the wire with the receiver of its messages */
  constructor(connect: (receive: (text: string, stream: Stream) => void) => Wire, options: PeerOptions) {
    this.options = options;
    this.writer = new Writer(options.folder, (message) => options.names.own(message));
    this.wire = connect((text, stream) => this.receive(text, stream));
  }

  get transcript(): Transcript {
    return { answers: this.answers, heard: this.heard };
  }

  /** The same message with the server's names. */
  own(message: object): Readonly<Record<string, unknown>> {
    return this.options.names.own(message) as Readonly<Record<string, unknown>>;
  }

  /** Sends a request and waits for its answer. */
  async request(method: string, params?: object, label = method): Promise<Message> {
    return await this.ask(method, params, label).answer;
  }

  /** Sends a request. Its answer is written down at the place of the request. */
  ask(method: string, params?: object, label = method): Asked {
    // Both kinds of ids are allowed.
    const id = ++this.lastId % 2 === 0 ? this.lastId : `request ${this.lastId}`;
    const place = this.answers.push({ label, text: 'no answer' }) - 1;
    const text = new Promise<string>((resolve) => this.waiting.set(id, resolve));
    const sent = this.post({ id, method, params: this.options.names.shown(method, params) });
    const answer = async (): Promise<Message> => {
      const [written, status] = await Promise.all([text, sent]);
      this.answers[place] = { label, text: this.writer.write(written), status: status ?? 200 };
      return JSON.parse(written) as Message;
    };
    return { id, answer: answer() };
  }

  async notify(method: string, params?: object): Promise<void> {
    const status = (await this.post({ method, params })) ?? 202;
    this.answers.push({ label: method, text: '', status });
  }

  async listen(): Promise<void> {
    await this.wire.listen();
  }

  /** Does something with other answers than the usual ones, and waits for the messages that follow from it. */
  async hearing<T>(heard: Heard, act: () => Promise<T>, answers: OwnAnswers = {}): Promise<T> {
    const wanted = Object.entries(heard).map(([method, more]) => ({
      method,
      count: this.count(method) + more,
    }));
    this.ownAnswers = answers;
    const result = await act();
    await until(
      () => `messages of the server: ${JSON.stringify(heard)}; seen ${JSON.stringify([...this.counts])}`,
      () => wanted.every(({ method, count }) => this.count(method) >= count),
    );
    this.ownAnswers = {};
    return result;
  }

  /** Ends the session. */
  async end(): Promise<void> {
    const statuses = await this.wire.end();
    for (const [place, status] of statuses.entries())
      this.answers.push({ label: ['DELETE', 'a request after DELETE'][place]!, text: '', status });
  }

  async close(): Promise<void> {
    await this.wire.close();
  }

  private count(method: string): number {
    return this.counts.get(method) ?? 0;
  }

  private async post(message: object): Promise<number | undefined> {
    const text = JSON.stringify({ jsonrpc: '2.0', ...message });
    return await this.wire.send(text.replaceAll(folderMark, this.options.folder));
  }

  private receive(text: string, stream: Stream): void {
    const { id, method, params } = JSON.parse(text) as Message;
    if (method === undefined) {
      const take = this.waiting.get(id!);
      if (take === undefined) this.heard.push({ label: 'an answer to no request', text, stream });
      else take(text);
      this.waiting.delete(id!);
      return;
    }
    const token = method === 'notifications/progress' ? ` ${String(params?.['progressToken'])}` : '';
    this.heard.push({ label: method + token, text: this.writer.write(text), stream });
    this.counts.set(method, this.count(method) + 1);
    if (id !== undefined && id !== null) void this.reply(id, method, params);
  }

  private async reply(id: string | number, method: string, params: Message['params']): Promise<void> {
    const usual = usualResult({ method, ...(params === undefined ? {} : { params }) }, this.options.roots);
    const error = { code: -32601, message: 'Method not found' };
    const answer = this.ownAnswers[method] ?? (usual === undefined ? { error } : { result: usual });
    const status = await this.post({ id, ...answer }).catch((failure: unknown) => failure);
    if (status !== undefined && status !== 202)
      this.heard.push({ label: 'a refused answer of the client', text: `${method}: ${String(status)}` });
  }
}
