import { GatheredBytes } from '../gatheredBytes.ts';

/**
 * The body of a response of a provider.
 * @throws Error for a body over the limit
 */
export async function bodyWithin(response: Response, mostBytes: number): Promise<Buffer<ArrayBuffer>> {
  const gathered = new GatheredBytes();
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    if (gathered.length + chunk.length > mostBytes)
      throw new Error(`the answer is larger than ${mostBytes} bytes`);
    gathered.add(chunk);
  }
  return gathered.whole();
}
