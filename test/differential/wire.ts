/** A connection of the test client to a server. It carries texts, so that no library changes what is compared. */

/** Takes a message of the server, and the stream that it came on. */
export type Receive = (text: string, stream: Stream) => void;
/** Over HTTP a message comes on the stream of a POST or on that of a GET; over stdio there is one stream. */
export type Stream = 'POST' | 'GET' | 'stdout';

export interface Wire {
  /** Sends one message. Resolves to the HTTP status, or over stdio to undefined. */
  send(text: string): Promise<number | undefined>;
  /** Opens the stream of the messages that belong to no call. Over stdio it is open already. */
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
