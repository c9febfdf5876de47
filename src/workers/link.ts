import { messageOf } from '../errorText.ts';
import type { SocketHandle } from '../proxy/index.ts';

/** The questions that a side may ask the other: the name, the question, the answer. All of it is plain data. */
export type Questions = Readonly<Record<string, { readonly question: unknown; readonly answer: unknown }>>;

/** The answers to the questions of the other side; a socket that came along belongs to the answering side. */
export type Answers<Asked extends object> = {
  readonly [Name in keyof Asked]: Asked[Name] extends { question: infer Question; answer: infer Answer }
    ? (question: Question, socket: SocketHandle | undefined) => Answer | Promise<Answer>
    : never;
};

type QuestionOf<Entry> = Entry extends { question: infer Question } ? Question : never;
type AnswerOf<Entry> = Entry extends { answer: infer Answer } ? Answer : never;

/**
 * An end of the channel between a process and its child: `process` in the child, the `ChildProcess` in its
 * parent.
 */
export interface Peer {
  readonly connected: boolean;
  send?(
    message: unknown,
    socket: undefined,
    options: undefined,
    done: (error: Error | null) => void,
  ): boolean;
  on(event: 'message', hear: (message: unknown, socket: unknown) => void): unknown;
  on(event: 'disconnect', hear: () => void): unknown;
}

/** The other side went away before it answered. */
export class LinkClosed extends Error {
  override readonly name = 'LinkClosed';
}

const gone = 'a worker exited in the meantime';

type Message =
  | { readonly ask: number; readonly name: string; readonly question: unknown }
  | { readonly answer: number; readonly value: unknown }
  | { readonly answer: number; readonly failed: string };

interface Waiting {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
}

/**
 * Questions and answers between the main process and a worker, in both directions. The two trust each other: they
 * are one program. Messages arrive in the order in which they were sent.
 */
export class Link<Asks extends object, Asked extends object> {
  private readonly peer: Peer;
  private readonly answers: Answers<Asked>;
  private readonly waiting = new Map<number, Waiting>();
  private last = 0;

  constructor(peer: Peer, answers: Answers<Asked>) {
    this.peer = peer;
    this.answers = answers;
    peer.on('message', (message, socket) =>
      this.hear(message as Message, socket as SocketHandle | undefined),
    );
    peer.on('disconnect', () => this.close());
  }

  /**
   * @param socket goes along with the question; this process keeps it open, too
   * @throws LinkClosed when the other side goes away, Error with the message that it failed with
   */
  async ask<Name extends keyof Asks & string>(
    name: Name,
    question: QuestionOf<Asks[Name]>,
    socket?: SocketHandle,
  ): Promise<AnswerOf<Asks[Name]>> {
    const id = ++this.last;
    const value = await new Promise<unknown>((resolve, reject) => {
      this.waiting.set(id, { resolve, reject });
      this.send({ ask: id, name, question }, socket, () => this.settle(id)?.reject(new LinkClosed(gone)));
    });
    // Both sides are the same program with the same table of questions.
    return value as AnswerOf<Asks[Name]>;
  }

  /** Closes the link: open questions fail, since no answer can come. */
  close(): void {
    for (const { reject } of this.waiting.values()) reject(new LinkClosed(gone));
    this.waiting.clear();
  }

  private send(message: Message, socket: SocketHandle | undefined, failed: () => void): void {
    const { peer } = this;
    if (!peer.connected || peer.send === undefined) {
      failed();
      return;
    }
    // Node sends its own handles of sockets, too; its types know only the objects around them.
    peer.send(message, socket as undefined, undefined, (error) => {
      if (error !== null) failed();
    });
  }

  private hear(message: Message, socket: SocketHandle | undefined): void {
    if ('ask' in message) {
      void this.reply(message.ask, message.name, message.question, socket);
      return;
    }
    const waiting = this.settle(message.answer);
    if ('failed' in message) waiting?.reject(new Error(message.failed));
    else waiting?.resolve(message.value);
  }

  private async reply(
    id: number,
    name: string,
    question: unknown,
    socket: SocketHandle | undefined,
  ): Promise<void> {
    let message: Message;
    try {
      const answers = this.answers as unknown as Readonly<
        Record<string, (question: unknown, socket: SocketHandle | undefined) => unknown>
      >;
      message = { answer: id, value: await answers[name]?.(question, socket) };
    } catch (error) {
      message = { answer: id, failed: messageOf(error) };
    }
    // If the message cannot be sent, the other side is gone.
    this.send(message, undefined, () => undefined);
  }

  private settle(id: number): Waiting | undefined {
    const waiting = this.waiting.get(id);
    this.waiting.delete(id);
    return waiting;
  }
}
