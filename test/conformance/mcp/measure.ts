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
  const server = await serveHttp();
  try {
    return await runSuite(server.url, revision);
  } finally {
    await server.close();
  }
}

/** The suite against the gateway, which demands a token and a group and runs the fixture over stdio. */
export async function measureGateway(revision: string): Promise<Results> {
  await using stack = new AsyncDisposableStack();
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
                      targets: [{ name: 'fixture', stdio: { cmd: process.execPath, args: [fixture] } }],
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
