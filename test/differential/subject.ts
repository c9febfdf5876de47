import type { Peer } from './peer.ts';
import type { Program } from './wire.ts';

/** Stands for the folder of a run in arguments and in what is compared: each run has its own. */
export const folderMark = '<folder>';

/** Messages of the server that a step waits for: method → number. */
export type Heard = Readonly<Record<string, number>>;

/** Answers of the client that differ from its usual ones for the time of a call: method → result or error. */
export type OwnAnswers = Readonly<Record<string, { readonly result: object } | { readonly error: object }>>;

export interface ToolCall {
  readonly tool: string;
  readonly args?: object;
  /** Members of `params` beside the name and the arguments. */
  readonly params?: object;
  readonly heard?: Heard;
  readonly answers?: OwnAnswers;
}

export interface SlowCall {
  readonly tool: string;
  readonly args?: object;
}

/** A server to compare, and sensible requests to it. */
export interface Subject {
  readonly name: string;
  /** Over a network the program prints its URL as the first line of its standard output. */
  readonly over: 'stdio' | 'http' | 'sse';
  /**
   * Clients of revision 2026-07-28 are compared, too. Of a server that does not know the revision, they must see what
   * a client of 2025-11-25 sees directly.
   */
  readonly modern?: 'spoken' | 'bridged';
  /** The server does not answer `subscriptions/listen`. */
  readonly hasNoListen?: true;
  /** Its interpreter needs seconds: the revisions are compared one after the other. */
  readonly startsSlowly?: true;
  program(folder: string): Program;
  /** Fills the folder of a run. */
  prepare?(folder: string): void;
  readonly roots?: readonly { readonly uri: string; readonly name: string }[];
  /** Heard after `initialize`, before the first request. */
  readonly opening?: Heard;
  /** At least one for each tool, except for those that `more` calls, or that no client can call here. */
  readonly calls: readonly ToolCall[];
  readonly calledLater?: readonly string[];
  /** At least one for each prompt. */
  readonly prompts: readonly {
    readonly name: string;
    readonly arguments?: Readonly<Record<string, string>>;
  }[];
  /** URIs beside those that are listed: of templates, for example. */
  readonly resources: readonly string[];
  readonly completions: readonly object[];
  /** Subscribed and given up. */
  readonly watched?: { readonly uri: string; readonly heard?: Heard };
  /** A call that reports its progress. */
  readonly progress?: SlowCall;
  /** The same with so much time left after the first report that a cancellation surely finds the call. */
  readonly cancelled?: SlowCall;
  /** Steps that only this server has. */
  more?(peer: Peer): Promise<void>;
}
