import { fileURLToPath } from 'node:url';
import { startGateway } from '../../support/gateway.ts';
import { startIssuer } from '../../support/issuer.ts';
import { serveHttp } from './fixture/http.ts';
import { startShim } from './shim.ts';
import { runSuite, type Results } from './suite.ts';

const fixture = fileURLToPath(new URL('fixture.ts', import.meta.url));
const audience = 'api://conformance';

/** The suite against the fixture's own Streamable HTTP endpoint. */
export async function measureDirect(revision: string): Promise<Results> {
  const server = await serveHttp('both');
  try {
    return await runSuite(server.url, revision);
  } finally {
    await server.close();
  }
}

/** The ways in which the gateway reaches the fixture. */
export const ways = ['stdio', 'Streamable HTTP'] as const;
export type Way = (typeof ways)[number];

/** The suite against the gateway, which demands a token and a group, with the fixture behind it. */
export async function measureGateway(revision: string, way: Way): Promise<Results> {
  await using stack = new AsyncDisposableStack();
  let target: object = { stdio: { cmd: process.execPath, args: [fixture] } };
  if (way === 'Streamable HTTP') {
    const server = await serveHttp('both');
    stack.defer(() => server.close());
    target = { mcp: { host: server.url } };
  }
  const issuer = await startIssuer();
  stack.defer(() => issuer.close());
  const gateway = await startGateway({
    binds: [
      {
        listeners: [
          {
            routes: [
              {
                policies: {
                  mcpAuthentication: {
                    mode: 'strict',
                    issuer: issuer.issuer,
                    audiences: [audience],
                    jwks: { url: issuer.jwksUrl },
                    authorization: { rules: [{ if: '"testers" in auth.claims.groups' }] },
                  },
                },
                backends: [
                  {
                    mcp: {
                      dnsRebindingProtection: true,
                      targets: [{ name: 'fixture', ...target }],
                    },
                  },
                ],
              },
            ],
          },
        ],
      },
    ],
  });
  stack.defer(async () => void (await gateway.stop()));
  const token = await issuer.token({ aud: audience, groups: ['testers'] });
  const shim = await startShim(gateway.port, token);
  stack.defer(() => shim.close());
  return await runSuite(`http://127.0.0.1:${shim.port}/mcp`, revision);
}
