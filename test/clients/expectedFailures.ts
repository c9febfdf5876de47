/** Clients that cannot use the gateway yet. An entry that does not fail any more fails the suite: remove it. */
export interface ExpectedFailure {
  /** Ends the name of the client. */
  readonly client: string;
  /** The endpoint; every one where absent. */
  readonly endpoint?: string;
  /** Matches the failure. */
  readonly error: RegExp;
  readonly reason: string;
}

export const expectedFailures: readonly ExpectedFailure[] = [];
