/** A message as a reader understood it. Text is latin1: one character a byte. */
export interface Seen {
  /** Method, or status of an answer. */
  readonly start: string;
  /** Empty for answers. */
  readonly target: string;
  /** Names in lower case, values without surrounding white space. */
  readonly fields: readonly (readonly [name: string, value: string])[];
  body: string;
  complete: boolean;
}

/** The reading of the bytes of a connection. */
export interface Reading {
  readonly messages: Seen[];
  /**
   * The reason why it read no further; undefined when it wants more bytes or the connection is over by agreement.
   */
  refusal: string | undefined;
  /** It reads no more because the last message ends the connection. */
  closed: boolean;
}
