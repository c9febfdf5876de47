import { CLIENT_CAPABILITIES_META_KEY, PROTOCOL_VERSION_META_KEY } from '@modelcontextprotocol/server';
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
  const url = `http://127.0.0.1:${port}/mcp`;
  if (revision === '2026-07-28') await beginSessions(url);
  return await runSuite(url, revision);
}

/**
 * The suite allows some calls half a second, and a child needs longer to start. The gateway holds a session for each set
 * of capabilities that the suite declares, if the server is a legacy one and the caller is known.
 */
async function beginSessions(url: string): Promise<void> {
  for (const capabilities of [{}, { elicitation: {} }]) {
    const _meta = {
      [PROTOCOL_VERSION_META_KEY]: '2026-07-28',
      [CLIENT_CAPABILITIES_META_KEY]: capabilities,
    };
    const response = await fetch(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': 'server/discover',
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'server/discover', params: { _meta } }),
    });
    if (response.status !== 200) throw new Error(`server/discover: ${await response.text()}`);
    await response.text();
  }
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
