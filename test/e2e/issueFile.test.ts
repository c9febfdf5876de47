/** The file of the first issue as it stands there, with its placeholders filled in. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { startGateway } from './gateway.testing.ts';
import { group, startIdp } from './stage.testing.ts';
import { until } from '../../src/until.testing.ts';

const policies = (issuer: string): string => `\
      policies:
        mcpAuthentication:
          mode: strict
          issuer: ${issuer}
          audiences: [api://tools]
          jwks:
            url: ${issuer}/v1/keys
          authorization:
            rules:
            - if: '"${group}" in auth.claims.groups'
`;
const backends = `\
      backends:
      - mcp:
          targets:
          - name: everything
            stdio:
              cmd: npx
              args: ["@modelcontextprotocol/server-everything"]
`;
/** Joins parts of a list item: the first line gets the dash. */
const item = (...parts: string[]): string => parts.join('').replace('      ', '    - ');
const file = (route: string): string => `\
binds:
- port: 0
  listeners:
  - routes:
${route}`;

const orders: Readonly<Record<string, (issuer: string) => string>> = {
  'policies before backends': (issuer) => file(item(policies(issuer), backends)),
  'policies after backends': (issuer) => file(item(backends, policies(issuer))),
};

describe('the file of the issue works as it is, with npx', () => {
  let idp: Awaited<ReturnType<typeof startIdp>>;
  before(async () => {
    idp = await startIdp();
  });
  after(() => idp.close());

  for (const [order, yaml] of Object.entries(orders))
    test(order, async () => {
      await using gateway = await startGateway(yaml(idp.issuer));
      const url = new URL('/mcp', gateway.url);

      const refused = await fetch(url, { method: 'POST', body: '{}' });
      assert.equal(refused.status, 401);
      assert.equal(
        refused.headers.get('www-authenticate'),
        `Bearer resource_metadata="${gateway.url}/.well-known/oauth-protected-resource/mcp"`,
      );
      const outside = await idp.issueToken({ client: 'outsider' });
      const forbidden = await fetch(url, {
        method: 'POST',
        headers: { authorization: `Bearer ${outside}` },
        body: '{}',
      });
      assert.equal(forbidden.status, 403);
      assert.deepEqual(gateway.children(), [], 'nothing is started for callers who may not come in');

      const client = new Client({ name: 'e2e', version: '1' });
      const transport = new StreamableHTTPClientTransport(url, {
        requestInit: { headers: { authorization: `Bearer ${await idp.issueToken()}` } },
      });
      await client.connect(transport as Parameters<typeof client.connect>[0]);
      const result = await client.callTool({ name: 'echo', arguments: { message: 'hello' } });
      assert.deepEqual(result.content, [{ type: 'text', text: 'Echo: hello' }]);
      assert.ok(gateway.children().length > 1, 'npx and, below it, the server');
      await transport.terminateSession();
      await client.close();
      await until('the end of npx and all below it', () => gateway.children().length === 0);
    });
});
