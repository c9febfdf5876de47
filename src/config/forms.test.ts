/** Forms of the format that files in use have, and how they load. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { loadText, type LoadResult } from './load.ts';
import { renderProblem } from './problem.ts';

const load = (text: string): LoadResult => loadText(text, { file: 'c.yaml', env: {} });

function loaded(text: string): Extract<LoadResult, { ok: true }> {
  const result = load(text);
  assert.ok(result.ok, result.ok ? '' : result.problems.map(renderProblem).join('\n'));
  return result;
}

function problemsOf(text: string): string[] {
  const result = load(text);
  assert.ok(!result.ok, 'expected problems');
  return result.problems.map(renderProblem);
}

const target = '{name: t, stdio: {cmd: server}}';

test('the top-level mcp opens port 3000 where the file has no gateways', () => {
  const ports = (text: string): number[] => loaded(text).model.binds.map(({ port }) => port);
  assert.deepEqual(ports(`mcp: {targets: [${target}]}`), [3000]);
  assert.deepEqual(ports(`mcp: {port: 8080, targets: [${target}]}`), [8080]);
  assert.deepEqual(ports(`gateways: {default: {port: 80}}\nmcp: {targets: [${target}]}`), [80]);
  assert.deepEqual(problemsOf(`gateways: {other: {port: 80}}\nmcp: {targets: [${target}]}`), [
    'c.yaml:2:6: mcp: attaches to the gateway `default`, which is not defined (name one of other in `gateways`)',
  ]);
  assert.deepEqual(problemsOf(`mcp: {gateways: other, targets: [${target}]}`), [
    'c.yaml:1:17: mcp.gateways: there is no gateway "other" (none is defined)',
  ]);
  assert.deepEqual(problemsOf(`binds: [{port: 3000, listeners: []}]\nmcp: {targets: [${target}]}`), [
    'c.yaml:2:6: mcp: port 3000 is used by binds[0].port already',
  ]);
});

test('a target that names a backend has the usual path, or its own', () => {
  const text = (server: string): string =>
    `backends: [{name: app, host: 'app:80'}]\nmcp: {targets: [{name: t, mcp: ${server}}]}`;
  for (const [server, path] of [
    ['{backend: app}', '/mcp'],
    ['{backend: /app, path: /v1/mcp}', '/v1/mcp'],
  ] as const) {
    const [bind] = loaded(text(server)).model.binds;
    const [listener] = bind?.listeners ?? [];
    assert.ok(listener !== undefined && 'routes' in listener);
    assert.partialDeepStrictEqual(listener.routes[0]?.backends[0], { targets: [{ host: 'app', path }] });
  }
  assert.match(problemsOf(text('{backend: //app, path: /mcp}')).join(), /there is no backend "\/app"/);
});

test('a delay may be a plain number', () => {
  const text = (duration: string): string =>
    `binds: [{port: 0, listeners: [{routes: [{policies: {delay: {duration: ${duration}}}}]}]}]`;
  for (const duration of ['250', '"250"', "'size(request.path) * 10'"]) loaded(text(duration));
});

test('a TCP route with host names is valid on a TCP listener, and never chosen there', () => {
  const { warnings } = loaded(
    "binds: [{port: 1, listeners: [{protocol: TCP, tcpRoutes: [{hostnames: [a.io], backends: [{host: 'a:1'}]}]}]}]",
  );
  assert.deepEqual(warnings.map(renderProblem), [
    'c.yaml:1:59: binds[0].listeners[0].tcpRoutes[0]: has host names, and a connection without TLS has none: the route is never used (leave `hostnames` out, or use a listener of protocol TLS)',
  ]);
});

test('a rule that names a target which the route does not have is a warning, and says which there are', () => {
  const warnings = (rules: string): string[] =>
    loaded(
      `config: {adminAddr: 'off'}\nmcp: {targets: [${target.replace('name: t', 'name: tools')}], policies: {mcpAuthorization: {rules: [${rules}]}}}`,
    ).warnings.map(({ path, message, hint }) => `${path}: ${message} (${hint ?? ''})`);
  const told = (name: string, hint: string): string =>
    `mcp.policies.mcpAuthorization: a rule names the target "${name}", and the route has none of this name (${hint})`;
  assert.deepEqual(warnings(`'mcp.tool.target == "tools"', {deny: 'mcp.prompt.target in ["tools"]'}`), []);
  assert.deepEqual(warnings(`'mcp.tool.target == "zzz"'`), [told('zzz', 'defined: tools')]);
  assert.deepEqual(warnings(`{deny: '"tool" != mcp["resource"].target'}`), [
    told('tool', 'did you mean tools?'),
  ]);
  assert.deepEqual(
    warnings(`{require: 'mcp.prompt.target in ["tools", "a", "b"]'}, 'mcp.tool.target == "a"'`),
    [told('a', 'defined: tools'), told('b', 'defined: tools')],
  );
  const issuer =
    'mcpAuthentication: {issuer: "https://i.test", audiences: [a], jwks: {file: k}, authorization: {rules: [\'mcp.tool.target == "zzz"\']}}';
  const [nested] = loaded(
    `config: {adminAddr: 'off'}\nmcp: {targets: [${target}], policies: {${issuer}}}`,
  ).warnings;
  assert.match(nested?.message ?? '', /names the target "zzz"/);
});

test('a login at the gateway without a session key is a warning, once', () => {
  const login = (name: string, more: string): string =>
    `{name: ${name}, matches: [{path: {exact: /${name}}}], backends: [{mcp: {targets: [${target}]}}], policies: {mcpAuthentication: {issuer: 'https://i.test', audiences: [a]${more}}}}`;
  const warnings = (config: string, more: string, env: Record<string, string> = {}): string[] => {
    const text = `config: {adminAddr: 'off'${config}}\nbinds: [{port: 1, listeners: [{routes: [${login('a', more)}, ${login('b', more)}]}]}]`;
    const result = loadText(text, { file: 'c.yaml', env });
    assert.ok(result.ok);
    return result.warnings.map(({ path, message }) => `${path}: ${message}`);
  };
  assert.deepEqual(warnings('', ', clientId: c'), [
    'binds[0].listeners[0].routes[0].policies.mcpAuthentication: without config.session.key, clients register and log in again after a restart',
  ]);
  assert.deepEqual(warnings('', ''), []);
  const key = 'ab'.repeat(32);
  assert.deepEqual(warnings(`, session: {key: ${key}}`, ', clientId: c'), []);
  assert.deepEqual(warnings('', ', clientId: c', { SESSION_KEY: key }), []);
});

test('a deny rule that denies each call without an argument is a warning', () => {
  const warnings = (rule: string): string[] =>
    loaded(
      `config: {adminAddr: 'off'}\nmcp: {targets: [${target}], policies: {mcpAuthorization: {rules: [${rule}]}}}`,
    ).warnings.map(({ path, message }) => `${path}: ${message}`);
  assert.deepEqual(warnings("{deny: 'mcp.tool.arguments.force == true', name: push}"), [
    'mcp.policies.mcpAuthorization: rules[0] (push) also denies each call without the argument "force": a deny rule that fails denies',
  ]);
  assert.deepEqual(
    warnings("{deny: 'has(mcp.tool.arguments.force) && mcp.tool.arguments.force == true'}"),
    [],
  );
  assert.deepEqual(warnings("{allow: 'mcp.tool.arguments.force == false'}"), []);
});

test('a rule that needs a tool and a prompt at once is a warning', () => {
  const warnings = (rules: string): string[] =>
    loaded(
      `config: {adminAddr: 'off'}\nmcp: {targets: [${target}], policies: {mcpAuthorization: {rules: [${rules}]}}}`,
    ).warnings.map(({ path, message }) => `${path}: ${message}`);
  assert.deepEqual(warnings(`'mcp.tool.name == "a" || mcp.prompt.name == "b"'`), []);
  assert.deepEqual(
    warnings(`'jwt.sub == "a"', {require: 'mcp.tool.name == "a" && has(mcp.prompt)', name: both}`),
    [
      'mcp.policies.mcpAuthorization: rules[1] (both) can never be true: it needs several of mcp.tool, mcp.prompt and mcp.resource, and each item is only one of them',
    ],
  );
  const loop = '[mcp.tool.target, mcp.prompt.target].exists(t, t == "hr")';
  for (const rule of [`{deny: '${loop}'}`, `{if: '${loop}', requireScopes: [hr]}`])
    assert.deepEqual(warnings(rule), [
      'mcp.policies.mcpAuthorization: rules[0] needs several of mcp.tool, mcp.prompt and mcp.resource, and each item is only one of them: where it fails, the names of the other kinds count as empty',
    ]);
});
