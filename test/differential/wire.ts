/** A connection of the test client to a server. It carries texts, so that no library changes what is compared. */

/** Takes a message of the server, and the stream that it came on. */
export type Receive = (text: string, stream: Stream) => void;
/**
 * Over Streamable HTTP a message comes on the stream of a POST or on that of a GET. Stdio and HTTP+SSE have one stream
 * for all messages.
 */
export type Stream = 'POST' | 'GET' | 'all';

export interface Wire {
  /** Sends one message. Resolves to the HTTP status; undefined where it tells nothing of the message. */
  send(text: string): Promise<number | undefined>;
  /** Opens the stream of the messages that belong to no call, where there is one. */
  listen(): Promise<void>;
  /** Ends the session. Resolves to the statuses of DELETE and of a request after it. */
  end(): Promise<readonly number[]>;
  /** Releases everything, also in the middle of a session. */
  close(): Promise<void>;
}

/** A program with its arguments and the variables that are added to the environment. */
export interface Program {
  readonly cmd: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}
