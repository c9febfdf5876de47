/** A client program or library that is tried against the gateway. */
export interface ClientRow {
  readonly name: string;
  /** The reason why the client cannot run here. */
  readonly missing?: string | false;
  /** Steps that the client has no means for. */
  readonly cannot?: readonly ('resource' | 'prompt')[];
  /** Connects with the token, takes every step, and disconnects. */
  visit(wanted: Wanted): Promise<Seen>;
}

/** The endpoint, and the items that the client uses there. */
export interface Wanted {
  readonly url: string;
  readonly token: string;
  /** Has one argument, `message`. */
  readonly tool: string;
  readonly message: string;
  readonly resource: string;
  /** Has no arguments. */
  readonly prompt: string;
}

export interface Seen {
  /** Names of the listed tools. */
  readonly tools: readonly string[];
  /** Text of the tool's result. */
  readonly call: string;
  /** Text of the resource. */
  readonly resource?: string;
  /** Text of the prompt's first message. */
  readonly prompt?: string;
}
