/**
 * Waits for something, though not longer than so many milliseconds. Rejects where the work does so in time.
 * @param work undefined: there is nothing to wait for
 */
export async function within(ms: number, work: Promise<unknown> | undefined): Promise<void> {
  const over = Promise.withResolvers<void>();
  const timer = setTimeout(over.resolve, Math.max(0, ms));
  try {
    await Promise.race([work, over.promise]);
  } finally {
    clearTimeout(timer);
  }
}
