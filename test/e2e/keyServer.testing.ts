import { createServer, type ServerResponse } from 'node:http';
import { exportJWK, generateKeyPair, SignJWT, type CryptoKey, type JWK } from 'jose';
import { listenOnLoopback } from '../support/loopback.ts';
import type { GatewayProcess } from './gateway.testing.ts';
import { ask } from './http.testing.ts';
import { audience, group, inline } from './stage.testing.ts';

/** A key set behind a URL that answers as a test wants it to. */
export interface KeyServer extends AsyncDisposable {
  readonly url: string;
  /** The number of requests to it. */
  readonly asked: number;
  /** From now on answers like this. */
  answer(how: (response: ServerResponse) => void): void;
}

/** An issuer's key and tokens signed with it. */
export interface SigningKey {
  readonly jwk: JWK;
  token(issuer: string, claims?: object): Promise<string>;
}

export const sendKeys =
  (...keys: readonly JWK[]) =>
  (response: ServerResponse): void =>
    void response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ keys }));

export async function startKeyServer(first: (response: ServerResponse) => void): Promise<KeyServer> {
  let how = first;
  let asked = 0;
  const { port, close } = await listenOnLoopback(
    createServer((_request, response) => {
      asked++;
      response.on('error', () => undefined);
      how(response);
    }),
  );
  return {
    url: `http://127.0.0.1:${port}/keys`,
    get asked() {
      return asked;
    },
    answer: (next) => void (how = next),
    [Symbol.asyncDispose]: close,
  };
}

export async function makeKey(kid: string, alg = 'RS256'): Promise<SigningKey> {
  const { publicKey, privateKey }: { publicKey: CryptoKey; privateKey: CryptoKey } =
    await generateKeyPair(alg);
  return {
    jwk: { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' },
    token: (issuer, claims) =>
      new SignJWT({ sub: 'alice', aud: audience, groups: [group], ...claims })
        .setProtectedHeader({ alg, kid })
        .setIssuer(issuer)
        .setIssuedAt()
        .setExpirationTime('1h')
        .sign(privateKey),
  };
}

/** A gateway with one route behind tokens, whose keys come from a server that answers when a test lets it. */
export async function startGuarded(start: (yaml: string) => Promise<GatewayProcess>, workers: number) {
  const key = await makeKey('one');
  const now = sendKeys(key.jwk);
  const keys = await startKeyServer(now);
  const issuer = 'https://issuer.test';
  const jwtAuth = { mode: 'strict', issuer, audiences: [audience], jwks: { url: keys.url } };
  const directResponse = { status: 200, body: 'hello' };
  const gateway = await start(`
config: { workers: ${workers} }
binds:
- port: 0
  listeners: [{ routes: [{ policies: ${inline({ jwtAuth, directResponse })} }] }]
`);
  await gateway.keysReady();
  const headers = { authorization: `Bearer ${await key.token(issuer)}` };
  const held: ServerResponse[] = [];
  return {
    gateway,
    /** The statuses of so many requests with a good token, each on a connection of its own. */
    statuses: async (): Promise<ReadonlySet<number>> =>
      new Set(
        (await Promise.all(Array.from({ length: 12 }, () => ask(gateway.url, { headers })))).map(
          ({ status }) => status,
        ),
      ),
    /** From now on nobody gets keys. */
    hold: () => keys.answer((response) => void held.push(response)),
    held,
    release: () => {
      keys.answer(now);
      for (const response of held) now(response);
    },
    [Symbol.asyncDispose]: async () => {
      await gateway[Symbol.asyncDispose]();
      await keys[Symbol.asyncDispose]();
    },
  };
}
