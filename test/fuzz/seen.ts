/** One message as a reader understood it. Text is latin1: one character a byte. */
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

/** What a reader made of the bytes of one connection. */
export interface Reading {
  readonly messages: Seen[];
  /** Why it read no further; undefined when it wants more bytes or the connection is over by agreement. */
  refusal: string | undefined;
  /** It reads no more because the last message ends the connection. */
  closed: boolean;
}
