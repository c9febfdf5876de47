/**
 * The body of a response of a provider.
 * @throws Error for a body over the limit
 */
export async function bodyWithin(response: Response, mostBytes: number): Promise<Buffer<ArrayBuffer>> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    length += chunk.length;
    if (length > mostBytes) throw new Error(`the answer is larger than ${mostBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
