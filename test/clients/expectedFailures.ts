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

export const expectedFailures: readonly ExpectedFailure[] = [
  {
    client: ', modern',
    error: /unsupported protocol version/i,
    reason: 'The gateway does not speak revision 2026-07-28 yet, and a pinned client accepts no other.',
  },
];
