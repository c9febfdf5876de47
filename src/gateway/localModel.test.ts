import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadText } from '../config/index.ts';
import type { Model } from '../model/index.ts';
import { localModel } from './localModel.ts';

function modelOf(text: string): Model {
  const loaded = loadText(text, { file: 'test.yaml', env: {} });
  assert.ok(loaded.ok);
  return loaded.model;
}

const several = modelOf(`
binds:
- port: 443
  listeners:
  - name: web
    protocol: HTTPS
    tls: {cert: a.pem, key: a.key}
    hostname: mcp.example.com
    routes:
    - name: tools
      hostnames: [mcp.example.com]
      matches: [{path: {pathPrefix: /}}, {path: {regex: '/t/.*'}}, {path: {exact: /tools}, method: POST}]
      policies: {mcpAuthorization: {rules: ['mcp.tool.name == "echo"']}}
      backends: [{mcp: {targets: [{name: a, stdio: {cmd: a}}]}}]
    - name: mixed
      backends: [{mcp: {targets: [{name: b, stdio: {cmd: b}}]}}, {host: 'app:80'}]
  - name: plain
    protocol: HTTPS
    hostname: other.example.com
    tls: {cert: a.pem, key: a.key}
    routes:
    - name: tools
      backends: [{mcp: {targets: [{name: c, stdio: {cmd: c}}]}}]
`);

test('the route of the mcp form is served on its path, with its policies and without a port', () => {
  const local = localModel(
    modelOf(
      '{mcp: {port: 3001, targets: [{name: a, stdio: {cmd: a}}]}, config: {logging: {accessLog: json}}}',
    ),
    undefined,
  );
  assert.ok(typeof local === 'object');
  assert.deepEqual([local.path, local.route, local.bind.port], ['/mcp', 'mcp', 0]);
  assert.equal(local.model.process.accessLog, 'none', 'standard output is for messages');
  assert.deepEqual(local.model.binds, [local.bind]);
});

test('a route keeps its policies, and loses what only a request of a client has', () => {
  const local = localModel(several, 'web/tools');
  assert.ok(typeof local === 'object');
  const [listener] = local.bind.listeners;
  assert.ok(listener !== undefined && 'routes' in listener);
  assert.deepEqual([listener.protocol, listener.hostname, listener.tls], ['HTTP', undefined, undefined]);
  const [route] = listener.routes;
  assert.deepEqual(route?.hostnames, []);
  assert.deepEqual(route?.matches, [{ path: { kind: 'exact', value: '/tools' }, headers: [], query: [] }]);
  assert.deepEqual(
    route?.policies.map(({ name }) => name),
    ['mcpAuthorization'],
  );
});

test('a route must be meant without doubt, and serve nothing but MCP servers', () => {
  assert.equal(
    localModel(several, undefined),
    'several routes have MCP servers; choose one by --route: web/tools, plain/tools',
  );
  assert.equal(
    localModel(several, 'tools'),
    'several routes have MCP servers; choose one by --route: web/tools, plain/tools',
  );
  assert.equal(
    localModel(several, 'mixed'),
    'no route "mixed" with MCP servers; the configuration has web/tools, plain/tools',
  );
  assert.equal(
    localModel(modelOf('binds: []'), undefined),
    'the configuration has no route with MCP servers',
  );
});
