/** Waits for something, though not longer than so many milliseconds. */
export async function within(ms: number, work: Promise<unknown> | undefined): Promise<void> {
  const over = Promise.withResolvers<void>();
  const timer = setTimeout(over.resolve, ms);
  try {
    await Promise.race([work, over.promise]);
  } finally {
    clearTimeout(timer);
  }
}
