import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { createServer } from 'node:http';
import { listenOnLoopback } from './loopback.ts';

export interface TestIssuer {
  readonly issuer: string;
  readonly jwksUrl: string;
  /** Signs (RS256) a token of this issuer; `exp` is an hour away unless given in the claims. */
  token(claims: Readonly<Record<string, unknown>>): Promise<string>;
  close(): Promise<void>;
}

/** The least that makes tokens: one RSA key, its key set over HTTP on the loopback interface. */
export async function startIssuer(): Promise<TestIssuer> {
  const { publicKey, privateKey } = await generateKeyPair('RS256');
  const jwks = JSON.stringify({
    keys: [{ ...(await exportJWK(publicKey)), kid: 'test', alg: 'RS256', use: 'sig' }],
  });
  const server = createServer((req, res) => {
    const known = req.url === '/v1/keys';
    res.writeHead(known ? 200 : 404, { 'content-type': 'application/json' }).end(known ? jwks : '{}');
  });
  const { port, close } = await listenOnLoopback(server);
  const issuer = `http://127.0.0.1:${port}`;
  return {
    issuer,
    jwksUrl: `${issuer}/v1/keys`,
    token: (claims) =>
      new SignJWT({ iss: issuer, sub: 'tester', exp: Math.floor(Date.now() / 1000) + 3600, ...claims })
        .setProtectedHeader({ alg: 'RS256', kid: 'test', typ: 'JWT' })
        .setIssuedAt()
        .sign(privateKey),
    close,
  };
}
