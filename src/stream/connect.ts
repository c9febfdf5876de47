import { connect, type ClientHttp2Stream, type IncomingHttpHeaders } from 'node:http2';

export interface ConnectOptions {
  /** `https://host:port` */
  readonly controller: URL;
  readonly path: string;
  readonly token: string;
  /** Authorities in the PEM form: nobody else's certificate is taken. */
  readonly ca: string;
  /** In the certificate, in place of the host of the URL. */
  readonly serverName: string | undefined;
  readonly userAgent: string;
  /** For everything until the answer begins. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

const maxReasonBytes = 500;

/**
 * Asks a controller for the stream of a Gateway. Its connection ends with it.
 * @throws Error saying why there is none
 */
export async function openStream(options: ConnectOptions): Promise<ClientHttp2Stream> {
  const { controller, path, token, ca, serverName, userAgent, timeoutMs, signal } = options;
  signal.throwIfAborted();
  const session = connect(controller, {
    ca,
    minVersion: 'TLSv1.3',
    ...(serverName === undefined ? {} : { servername: serverName }),
    settings: { enablePush: false },
  });
  const failure = Promise.withResolvers<never>();
  // It is heard of by whoever waits just then, or by nobody.
  failure.promise.catch(() => undefined);
  session.on('error', (error) => failure.reject(error));
  session.once('close', () => failure.reject(new Error('the connection was closed')));
  const onAbort = (): void => session.destroy();
  signal.addEventListener('abort', onAbort, { once: true });
  const late = setTimeout(() => {
    failure.reject(new Error('the controller did not answer in time'));
    session.destroy();
  }, timeoutMs);
  try {
    const stream = session.request(
      { ':method': 'POST', ':path': path, authorization: `Bearer ${token}`, 'user-agent': userAgent },
      { endStream: false },
    );
    stream.on('error', (error) => failure.reject(error));
    stream.once('close', () => {
      signal.removeEventListener('abort', onAbort);
      session.close();
    });
    const head = await Promise.race([
      new Promise<IncomingHttpHeaders>((resolve) => stream.once('response', resolve)),
      failure.promise,
    ]);
    if (head[':status'] === '200' || Number(head[':status']) === 200) return stream;
    throw new Error(`refused with ${String(head[':status'])}: ${await reasonOf(stream)}`);
  } catch (error) {
    signal.removeEventListener('abort', onAbort);
    session.destroy();
    throw error;
  } finally {
    clearTimeout(late);
  }
}

async function reasonOf(stream: ClientHttp2Stream): Promise<string> {
  let text = '';
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      text += chunk.toString('utf8');
      if (text.length > maxReasonBytes) break;
    }
  } catch {
    // The status has said it.
  }
  return text.slice(0, maxReasonBytes).trim();
}
