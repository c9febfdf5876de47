/** Texts of whatever a `catch` clause holds: JavaScript lets a program throw any value. */

/** The message of an error, for people and for logs; any other value as text. */
export const messageOf = (thrown: unknown): string =>
  thrown instanceof Error ? thrown.message : String(thrown);

/** The message of an error with the place where it was thrown: for the log of a defect of our own. */
export const stackOf = (thrown: unknown): string =>
  thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown);

/** The value itself where it is an error; otherwise an error with its text. */
export const errorOf = (thrown: unknown): Error =>
  thrown instanceof Error ? thrown : new Error(String(thrown));
