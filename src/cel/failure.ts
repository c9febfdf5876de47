/**
 * The failure of an expression instead of a value. Made when it is planned where the text is known then: failures
 * are the ordinary case of rules about claims that a caller lacks, and must cost nothing.
 */
export class Failure {
  readonly message: string;
  /** The missing part: a key of a map, or the whole variable. */
  readonly lacks: 'key' | 'variable' | undefined;
  #error: Error | undefined;

  constructor(message: string, lacks?: 'key' | 'variable') {
    this.message = message;
    this.lacks = lacks;
  }

  /** The same object each time: nobody reads its stack. */
  get error(): Error {
    this.#error ??= new Error(this.message);
    return this.#error;
  }
}

/**
 * Stands for a value that is not known yet. An expression that depends on it is unknown, too: neither a value nor a
 * failure. As in cel-go, an unknown operand of `&&` and `||` outweighs a failure, and a deciding one outweighs both.
 */
export const unknown: Failure = new Failure('the value is not known yet');

/** Only until the run ends: what runs out of steps fails as a whole. */
export const outOfSteps = new Failure('out of steps');

/** Thrown by functions that look something up by name. */
export class NoSuchKey extends Error {}
