import { fileURLToPath } from 'node:url';
import { startGateway } from '../../support/gateway.ts';
import { startIssuer } from '../../support/issuer.ts';
import type { Combination, Revision } from './combinations.ts';
import { serveHttp } from './fixture/http.ts';
import { startShim } from './shim.ts';
import { runSuite, type Results } from './suite.ts';

const fixture = fileURLToPath(new URL('fixture.ts', import.meta.url));
const audience = 'api://conformance';

/** The suite against the fixture's own Streamable HTTP endpoint. */
export async function measureDirect(revision: Revision): Promise<Results> {
  const server = await serveHttp('both');
  try {
    return await runSuite(server.url, revision);
  } finally {
    await server.close();
  }
}

/** The suite against the gateway, with the fixture behind it. */
export async function measureGateway({ revision, eras, over, token }: Combination): Promise<Results> {
  await using stack = new AsyncDisposableStack();
  let target: object = { stdio: { cmd: process.execPath, args: [fixture, '--era', eras] } };
  if (over === 'Streamable HTTP') {
    const server = await serveHttp(eras);
    stack.defer(() => server.close());
    target = { mcp: { host: server.url } };
  }
  const start = async (policies: object) => {
    const backend = { dnsRebindingProtection: true, targets: [{ name: 'fixture', ...target }] };
    const routes = [{ policies, backends: [{ mcp: backend }] }];
    const gateway = await startGateway({ binds: [{ listeners: [{ routes }] }] });
    stack.defer(async () => void (await gateway.stop()));
    return gateway.port;
  };
  const port = token ? await startWithToken(stack, start) : await start({});
  return await runSuite(`http://127.0.0.1:${port}/mcp`, revision);
}

/** Starts a gateway that demands a token and a group, and a shim that sends them. Resolves to the shim's port. */
async function startWithToken(
  stack: AsyncDisposableStack,
  start: (policies: object) => Promise<number>,
): Promise<number> {
  const issuer = await startIssuer();
  stack.defer(() => issuer.close());
  const port = await start({
    mcpAuthentication: {
      mode: 'strict',
      issuer: issuer.issuer,
      audiences: [audience],
      jwks: { url: issuer.jwksUrl },
      authorization: { rules: [{ if: '"testers" in auth.claims.groups' }] },
    },
  });
  const shim = await startShim(port, await issuer.token({ aud: audience, groups: ['testers'] }));
  stack.defer(() => shim.close());
  return shim.port;
}
