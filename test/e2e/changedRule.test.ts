/** A request is judged with all rules of its route, of which one has another expression for this request. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { operatorOf } from './adminApi.testing.ts';
import { startGateway, type GatewayProcess } from './gateway.testing.ts';
import { authentication, inline, startIdp } from './stage.testing.ts';

let gateway: GatewayProcess;
let idp: Awaited<ReturnType<typeof startIdp>>;

before(async () => {
  idp = await startIdp();
  const gated = authentication(idp, { authorization: undefined });
  const ruled = authentication(idp, {
    authorization: { rules: [{ name: 'readers', allow: '"readers" in jwt.groups' }] },
  });
  gateway = await startGateway(`
binds:
- port: 0
  listeners:
  - routes:
    - name: tools
      matches: [{ path: { pathPrefix: /mcp } }]
      policies:
        mcpAuthentication: ${inline(gated)}
        authorization: { rules: [{ name: not mallory, require: 'jwt.sub != "mallory"' }] }
        mcpAuthorization:
          rules:
          - { name: no deletes, deny: 'mcp.tool.name == "delete"' }
          - { name: everyone reads, allow: mcp.tool.name == "read" }
          - { name: editors, allow: '"editors" in jwt.groups' }
      backends: [{ mcp: { targets: [{ name: files, stdio: { cmd: node, args: [-e, '0'] } }] } }]
    - name: ruled
      matches: [{ path: { pathPrefix: /ruled } }]
      policies: { mcpAuthentication: ${inline(ruled)} }
      backends: [{ mcp: { targets: [{ name: files, stdio: { cmd: node, args: [-e, '0'] } }] } }]
    - name: app
      policies: { directResponse: { status: 204 } }
`);
});
after(async () => {
  await gateway?.stop();
  await idp?.close();
});

const list = 'binds[0].listeners[0].routes[0].policies.mcpAuthorization.rules';
const gate = 'binds[0].listeners[0].routes[0].policies.authorization.rules[0]';
const ruled = 'binds[0].listeners[0].routes[1].policies.mcpAuthentication.authorization.rules[0]';

const call = (tool: string, path: string): string =>
  `POST ${path} HTTP/1.1\nHost: localhost\nContent-Type: application/json\nAccept: application/json, text/event-stream\n\n${JSON.stringify(
    { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: tool, arguments: { path: '/a' } } },
  )}`;

/** The end of a call of ada, who is no editor, with a changed rule, and the status of the answer. */
async function judged(tool: string, place?: string, expression = '', path = '/mcp'): Promise<string> {
  const body = {
    request: call(tool, path),
    claims: { sub: 'ada', groups: ['readers'] },
    ...(place !== undefined && { rule: { place, expression } }),
  };
  const answer = await operatorOf(gateway)('POST', '/api/v1/why', body);
  const { outcome, detail } = answer.json as {
    outcome?: { kind: string; rule?: string };
    detail?: string;
  };
  return outcome === undefined
    ? `${answer.status} ${detail}`
    : [outcome.kind, outcome.rule].filter(Boolean).join(': ');
}

test('a changed rule decides together with all other rules, and only for its request', async () => {
  assert.equal(await judged('read'), 'forwarded');
  // The other allow rule allows the tool already, and the deny rule goes before both.
  assert.equal(await judged('read', `${list}[2]`, 'false || jwt.sub == "bob"'), 'forwarded');
  assert.equal(await judged('delete', `${list}[2]`, 'jwt.sub == "ada"'), 'refused: no deletes');
  assert.equal(await judged('write'), 'refused: everyone reads; editors');
  assert.equal(await judged('write', `${list}[2]`, 'jwt.sub == "ada"'), 'forwarded');
  assert.equal(await judged('read', `${list}[0]`, 'mcp.tool.name == "read"'), 'refused: no deletes');
  assert.equal(
    await judged('read', `${list}[0]`, 'mcp.tool.arguments.path.startsWith("/a")'),
    'refused: no deletes',
  );
  assert.equal(await judged('write'), 'refused: everyone reads; editors');
});

test('a changed rule may become one about items, and one about the request', async () => {
  assert.equal(await judged('read', gate, 'jwt.sub == "bob"'), 'refused: not mallory');
  assert.equal(await judged('read', `${list}[0]`, 'jwt.sub == "ada"'), 'refused: no deletes');
  assert.equal(await judged('read', undefined, '', '/ruled'), 'forwarded');
  assert.equal(await judged('read', ruled, 'jwt.sub == "bob"', '/ruled'), 'refused: readers');
  assert.equal(await judged('read', ruled, 'mcp.tool.name == "write"', '/ruled'), 'refused: readers');
  assert.equal(await judged('write', ruled, 'mcp.tool.name == "write"', '/ruled'), 'forwarded');
});

test('a place without a rule, and an expression that a rule cannot have, are refused', async () => {
  assert.equal(await judged('read', `${list}[3]`, 'true'), `422 the route tools has no rule at ${list}[3]`);
  assert.match(await judged('read', `${list}[0]`, 'jwtt.sub == "a"'), /^422 .*jwtt/);
  assert.match(await judged('read', `${list}[0]`, '1 + 1'), /^422 a rule must come to true or false/);
  assert.match(await judged('read', `${list}[0]`, 'x'.repeat(5_000)), /^400 /);
});
