import { gather } from '../gatheredBytes.ts';

/**
 * The body of a response of a provider.
 * @throws Error for a body over the limit
 */
export const bodyWithin = (response: Response, mostBytes: number): Promise<Buffer<ArrayBuffer>> =>
  gather(
    (response.body ?? []) as AsyncIterable<Uint8Array>,
    mostBytes,
    () => new Error(`the answer is larger than ${mostBytes} bytes`),
  );
