import assert from 'node:assert/strict';
import test from 'node:test';
import { loadText, renderProblem } from '../config/index.ts';
import { explanation } from './explanation.ts';

function explained(text: string): string {
  const result = loadText(text, { file: 'c.yaml', env: {} });
  assert.ok(result.ok, result.ok ? '' : result.problems.map(renderProblem).join('\n'));
  return explanation(result.model);
}

test('ports, listeners, routes in match order, policies in run order and backends are shown', () => {
  const text = explained(`
config: {adminAddr: "off", readinessAddr: "unix:/run/ready"}
binds:
- port: 3000
  listeners:
  - name: all
    routes:
    - name: app
      backends: [{host: "a:1", weight: 3}, {host: "[::1]:2"}]
    - name: api
      hostnames: [api.example.com]
      matches:
      - path: {pathPrefix: /v1}
        headers: [{name: X-Tenant, value: {exact: one}}]
        query: [{name: q, value: {regex: 'a.*'}}]
      - path: {exact: /status}
        method: GET
      policies:
        directResponse: {status: 204}
        authorization: {rules: ['jwt.sub == "a"']}
        cors: {allowOrigins: ['*']}
  - name: tools
    hostname: "*.tools.example.com"
    policies: {cors: {allowOrigins: ['*']}}
    routes:
    - backends:
      - mcp:
          targets:
          - {name: t, stdio: {cmd: run it, args: [--a, "it's"], env: {TOKEN: secret}, clear_env: true, cwd: /srv}}
- port: 0
  listeners: [{name: empty}]
`);
  assert.equal(
    text,
    `port 3000
  listener tools, *.tools.example.com
    policies: cors
    match order, the first that holds wins:
      1.  *.tools.example.com  any method  below /  → route0
    route route0 (c.yaml:26:7)
      policies of the listener: cors
      backend MCP
        target t: 'run it' --a 'it'\\''s' (in /srv; empty environment; sets TOKEN; starts within 1m)
  listener all, every host
    match order, the first that holds wins:
      1.  api.example.com  GET         exactly /status                                        → api
      2.  api.example.com  any method  below /v1        header x-tenant = one, query q ~ a.*  → api
      3.  *                any method  below /                                                → app
    route api (c.yaml:10:7)
      policies: cors → authorization → directResponse
        authorization.rules[0]: allow jwt.sub == "a" (decides whole requests)
      answers by itself
    route app (c.yaml:8:7)
      backend http://a:1, 75 % of the requests
      backend http://[::1]:2, 25 % of the requests

port 0 (the system chooses)
  listener empty, every host
    no route: every request is answered with 404

admin      off
metrics    http://[::]:15020
readiness  unix:/run/ready
`,
  );
});

test('the TLS of a listener is shown', () => {
  const text = explained(`
binds:
- port: 443
  listeners:
  - tls: { cert: /tls/a.pem, key: /tls/a.key, root: /tls/ca.pem }
    protocol: HTTPS
    routes: [{ policies: { directResponse: { status: 204 } } }]
`);
  assert.match(text, /\n {4}TLSv1\.2 to TLSv1\.3, certificate \/tls\/a\.pem, client certificates required\n/);
});

test('listeners that pass bytes and datagrams are shown with who gets which share', () => {
  const text = explained(`
config: {adminAddr: "off", statsAddr: "off", readinessAddr: "off"}
binds:
- port: 443
  listeners:
  - name: through
    protocol: TLS
    hostname: '*.example.com'
    tcpRoutes:
    - name: eu
      hostnames: [eu.example.com]
      backends: [{host: 'eu:443'}]
    - {name: rest, backends: [{host: 'a:443', weight: 3}, {host: '[::1]:443', addresses: ['b:443', 'c:443']}]}
  - {name: ends, protocol: TLS, tls: {cert: a.pem, key: a.key}, tcpRoutes: [{backends: [{host: 'mq:1', policies: {backendTLS: {}}}]}]}
- port: 53
  listeners:
  - {name: dns, protocol: UDP, udpRoutes: [{backends: [{host: '10.0.0.53:53', weight: 0}]}]}
  - {name: tcp, protocol: TCP}
  `);
  assert.equal(
    text,
    `port 443
  listener through, *.example.com, TLS passed through
    route eu, eu.example.com (c.yaml:10:7)
      backend tcp://eu:443
    route rest (c.yaml:13:7)
      backend tcp://a:443, 75 % of the connections
      backend tcp://[::1]:443, 25 % of the connections, at 2 addresses
  listener ends, every server name, TLS that ends here
    route route0 (c.yaml:14:77)
      backend tls://mq:1

port 53
  listener dns, UDP
    route route0 (c.yaml:17:44)
      no backend: all clients are refused
  listener tcp, TCP
    no route: every connection is closed

admin      off
metrics    off
readiness  off
`,
  );
});

test('an MCP backend says how clients see its targets', () => {
  const backendOf = (settings: string, names = ['a', 'b']): string => {
    const targets = names.map((name) => `{name: ${name}, stdio: {cmd: x}}`).join(', ');
    const text = explained(`config: {mcp: {pins: /pins}}\nmcp: {targets: [${targets}]${settings}}`);
    return /backend MCP(.*)/.exec(text)?.[1] ?? '';
  };
  assert.equal(backendOf('', ['a']), '');
  assert.equal(backendOf(''), ': names begin with the target and "_"; a dead target fails the session');
  assert.equal(
    backendOf(', prefixMode: never, failureMode: failOpen'),
    ': the first target that has a name owns it; dead targets are left out',
  );
  assert.equal(
    backendOf(', view: {rest: show, tools: [{name: x, hide: true}]}, pin: enforce, statefulMode: stateless', [
      'a',
    ]),
    ': view with 1 entry for tools, the rest is shown; changed tools are withheld; no sessions',
  );
});

test('credentials in addresses and arguments are hidden', () => {
  const text = explained(
    `mcp: {targets: [
      {name: far, mcp: {host: 'http://far.test/mcp?api_key=opaque-1'}},
      {name: run, stdio: {cmd: x, args: [-e, ACCESS_TOKEN=opaque-2, 'https://opaque-3@host/x']}}]}`,
  );
  assert.match(text, /http:\/\/far\.test:80\/mcp\?api_key=\[redacted\]/);
  assert.doesNotMatch(text, /opaque/);
});
