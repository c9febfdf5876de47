interface Underneath {
  readonly _handle?: { setBlocking?(blocking: boolean): unknown };
}

/**
 * Makes standard output and error non-blocking once more, as a `Sink` has made them at its start. Processes share how a
 * pipe behaves, and one that ends puts it back to what it had found.
 */
export function makeNonBlockingAgain(): void {
  // The public API has no function for this: Node wants it decided once, when the stream is opened.
  for (const stream of [process.stdout, process.stderr] as readonly Underneath[])
    stream._handle?.setBlocking?.(false);
}
