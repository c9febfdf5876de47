import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import fc from 'fast-check';
import { loadFile, loadText, type LoadResult } from './load.ts';
import { renderProblem } from './problem.ts';

const load = (text: string, env: Record<string, string> = {}): LoadResult =>
  loadText(text, { file: 'c.yaml', env });

function loaded(text: string, env: Record<string, string> = {}): Extract<LoadResult, { ok: true }> {
  const result = load(text, env);
  assert.ok(result.ok, result.ok ? '' : result.problems.map(renderProblem).join('\n'));
  return result;
}

function problemsOf(text: string, env: Record<string, string> = {}): string[] {
  const result = load(text, env);
  assert.ok(!result.ok, 'expected problems');
  return result.problems.map(renderProblem);
}

test('environment variables win over config, and an empty one counts as not set', () => {
  const text = 'config: {adminAddr: "off", statsAddr: "off", connectionTerminationDeadline: 7s}';
  const { fixed } = loaded(text, {
    ADMIN_ADDR: 'localhost:1',
    STATS_ADDR: '',
    READINESS_ADDR: 'unix:/run/r',
    SESSION_KEY: 'AB'.repeat(32),
    CONNECTION_TERMINATION_DEADLINE: '9s',
    CONNECTION_MIN_TERMINATION_DEADLINE: '1s',
    TERMINATION_GRACE_PERIOD_SECONDS: '60',
  }).model.process;
  assert.deepEqual(fixed.admin, { kind: 'tcp', host: '127.0.0.1', port: 1 });
  assert.deepEqual(fixed.stats, { kind: 'off' });
  assert.deepEqual(fixed.readiness, { kind: 'unix', path: '/run/r' });
  assert.equal(fixed.sessionKey, 'ab'.repeat(32));
  assert.equal(fixed.terminationDeadlineMs, 9_000);
  assert.equal(fixed.minTerminationDeadlineMs, 1_000);
});

test('the grace period of the platform less five seconds is the deadline where nothing else sets one', () => {
  const deadline = (text: string, seconds: string): number =>
    loaded(text, { TERMINATION_GRACE_PERIOD_SECONDS: seconds }).model.process.fixed.terminationDeadlineMs;
  assert.equal(deadline('binds: []', '30'), 25_000);
  assert.equal(deadline('binds: []', '3'), 1_000);
  assert.equal(deadline('config: {connectionTerminationDeadline: 7s}', '30'), 7_000);
});

test('a wrong override is a problem that names the variable and not its value', () => {
  assert.deepEqual(
    problemsOf('binds: []', { SESSION_KEY: 'secret', TERMINATION_GRACE_PERIOD_SECONDS: 'long' }),
    [
      'environment: SESSION_KEY: expected 64 hexadecimal digits',
      'environment: TERMINATION_GRACE_PERIOD_SECONDS: expected a whole number of seconds',
    ],
  );
});

test('the variable that the session key comes from is named, so that no child inherits it', () => {
  const text = 'config: {session: {key: "${KEY}"}}';
  assert.deepEqual(loaded(text, { KEY: 'ab'.repeat(32) }).secrets.variables, ['KEY']);
  assert.deepEqual(loaded('binds: []').secrets.variables, []);
});

test('levels of modules are accepted, and a warning says that they have no effect', () => {
  const level = (written: string) =>
    loaded(`config: {adminAddr: off, logging: {level: ${written}}}\nbinds: []`);
  const warned = 'levels of single modules have no effect: all messages from';
  for (const [written, expected] of [
    ['"info,agent_core=trace"', 'info'],
    ['"agent_core=trace, warn"', 'warn'],
    ['[trace, "a=error", "b=off"]', 'debug'],
    ['agent_core=trace', 'info'],
  ] as const) {
    const { model, warnings } = level(written);
    assert.equal(model.process.fixed.logLevel, expected, written);
    const messages = warnings.flatMap(({ path, message }) =>
      path === 'config.logging.level' ? [message] : [],
    );
    assert.deepEqual(messages, [`${warned} ${expected} on are logged`], written);
  }
  const none = level('trace').warnings.filter(({ path }) => path === 'config.logging.level');
  assert.deepEqual(none, []);
  for (const written of ['loud', '"info,debug"', '"info,a=loud"', '[]', '"=debug"', '"info,"'])
    assert.match(
      problemsOf(`config: {logging: {level: ${written}}}\nbinds: []`).join(),
      /logging\.level: expected debug, info, warn, error or trace/,
      written,
    );
});

test('a wrong value that came from a variable is never shown', () => {
  const text =
    'config: {session: {key: "$KEY"}, logging: {level: $KEY, format: $KEY}, adminAddr: $KEY}\nbinds: $KEY';
  const problems = problemsOf(text, { KEY: 'swordfish' });
  assert.equal(problems.length, 5);
  for (const problem of problems) {
    assert.ok(!problem.includes('swordfish'), problem);
    assert.ok(problem.endsWith('(the value comes from $KEY)'), problem);
  }
});

test('the value of a variable cannot add fields to the configuration', () => {
  const env = { HOST: 'a:1}]}]}]\nconfig: {adminAddr: "0.0.0.0:1"}' };
  assert.deepEqual(
    problemsOf('binds: [{port: 1, listeners: [{routes: [{backends: [{host: $HOST}]}]}]}]', env),
    [
      'c.yaml:1:60: binds[0].listeners[0].routes[0].backends[0].host: expected name:port such as app.internal:8000 or [::1]:8000 (the value comes from $HOST)',
    ],
  );
});

test('the keys of backends stay when other parts of the file move', () => {
  const keys = (text: string): string[] =>
    loaded(text).model.binds.flatMap(({ listeners }) =>
      listeners.flatMap((listener) =>
        'routes' in listener ? listener.routes.flatMap(({ backends }) => backends.map(({ key }) => key)) : [],
      ),
    );
  const route = 'routes: [{name: r, backends: [{host: a:1}, {host: b:1}]}]';
  const before = keys(`binds: [{port: 1, listeners: [{${route}}]}]`);
  const after = keys(`# moved\nbinds:\n- {port: 2, listeners: []}\n- {port: 1, listeners: [{${route}}]}`);
  assert.deepEqual(before, ['bind/1/listener0/r/backend0', 'bind/1/listener0/r/backend1']);
  assert.deepEqual(after, before);
});

test('the model survives JSON, so that it can be sent to another process', () => {
  const { model } = loaded(
    'binds: [{port: 1, listeners: [{hostname: a.io, routes: [{policies: {directResponse: {status: 200, body: hi}}}]}]}]',
  );
  assert.deepEqual(JSON.parse(JSON.stringify(model)), model);
});

test('a file that cannot be read is a problem with the reason', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-load-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const missing = join(folder, 'none.yaml');
  assert.deepEqual(loadFile(missing, {}), {
    ok: false,
    problems: [{ file: missing, path: '', message: 'there is no such file' }],
  });
  const result = loadFile(folder, {});
  assert.equal(
    result.ok ? '' : result.problems.map(renderProblem).join(),
    `${folder}: this is a directory, not a file`,
  );
});

test('loading any text returns a model, or problems with their positions', () => {
  const word = fc.constantFrom(
    ...[
      'binds',
      'port',
      'listeners',
      'routes',
      'backends',
      'policies',
      'matches',
      'mcp',
      'config',
      'gateways',
    ],
    ...[
      '<<',
      '*a',
      '&a',
      '- ',
      ': ',
      '\n',
      '\n  ',
      '{',
      '}',
      '[',
      ']',
      '$X',
      '${',
      '"',
      "'",
      '|',
      '>',
      '!t',
      '#',
      '~',
    ],
    ...[
      '3000',
      '1.5',
      'true',
      'null',
      '__proto__',
      'constructor',
      ',',
      '\t',
      '%',
      '@',
      '---\n',
      '\u0000',
      'é',
    ],
  );
  fc.assert(
    fc.property(fc.array(word, { maxLength: 40 }), (words) => {
      const text = words.join('');
      const result = load(text, { X: 'x' });
      if (result.ok) return;
      assert.ok(result.problems.length > 0);
      const lines = text.split('\n').length;
      for (const { line, message } of result.problems) {
        assert.ok(line === undefined || (line >= 1 && line <= lines + 1), `${message} at line ${line}`);
        assert.notEqual(message, '');
      }
    }),
    { numRuns: 500 },
  );
});

test('bytes that are no text are refused in one line', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-load-'));
  t.after(() => rmSync(folder, { recursive: true }));
  for (const bytes of [Buffer.from([0x7f, 0x45, 0x4c, 0x46, 0xff]), Buffer.from('binds: []', 'utf16le')]) {
    const file = join(folder, 'c.yaml');
    writeFileSync(file, bytes);
    assert.deepEqual(loadFile(file, {}), {
      ok: false,
      problems: [{ file, path: '', message: 'this is not a text file in UTF-8' }],
    });
  }
});

test('the path of a health check can begin no other line', () => {
  const problems = (path: string): number => {
    const check = JSON.stringify({ path });
    const result = load(
      `backends: [{name: a, host: "a:80", policies: {health: {check: ${check}}}}]\nbinds: []`,
    );
    return result.ok ? 0 : result.problems.length;
  };
  assert.equal(problems('/health?deep=1'), 0);
  for (const path of ['/a b', '/a\r\nb', '/a\u010d\u010ab', '/\u0000']) assert.equal(problems(path), 1, path);
});

test('regular expressions that are too large, each or all of a route together, are refused at load', () => {
  const file = (matches: string): string =>
    `binds: [{port: 3000, listeners: [{routes: [{matches: ${matches}, backends: [{host: "a:80"}]}]}]}]`;
  assert.match(
    problemsOf(file(`[{path: {regex: "/(?:(?:a|aa|aaa|aaaa|.){0,30}){0,30}b"}}]`)).join(),
    /matches\[0\]\.path\.regex.*too large: its program may have 500 instructions/,
  );
  assert.match(
    problemsOf(file(`[{path: {regex: "/${'a'.repeat(5000)}"}}]`)).join(),
    /longer than 4096 characters/,
  );
  const many = Array.from({ length: 9 }, (_, i) => `{headers: [{name: x, value: {regex: "${i}{480}"}}]}`);
  const problems = problemsOf(file(`[${many.join(', ')}]`));
  assert.equal(problems.length, 1, problems.join('\n'));
  assert.match(problems.join(), /matches\[8\]\.headers\[0\]\.value\.regex: too many: .* 4000 instructions/);
  loaded(file(`[${many.slice(0, 8).join(', ')}]`));
});

test('a text of brackets, dashes or keys by the million is refused before memory is spent on it', () => {
  const million = 1_000_000;
  for (const text of [
    '['.repeat(million),
    '{'.repeat(million),
    '- '.repeat(million),
    '? '.repeat(million),
    'a: '.repeat(million),
  ]) {
    const result = loadText(text, { file: 'x', env: {} });
    assert.ok(!result.ok);
    assert.equal(result.problems[0]?.message, 'is nested too deeply');
    assert.ok((result.problems[0]?.column ?? Infinity) < 2_000, 'the parser stopped early');
  }
  const keys = Array.from({ length: 20_000 }, (_, i) => `k${i}:\n`).join('');
  const result = loadText(keys, { file: 'x', env: {} });
  assert.ok(!result.ok);
  assert.equal(result.problems.at(-1)?.message, 'has 19000 further problems');
});

test('more than 11 100 routes are accepted', () => {
  const routes = Array.from(
    { length: 20_000 },
    (_, i) => `    - {name: r${i}, backends: [{host: 'a:1'}]}\n`,
  ).join('');
  const result = loadText(`binds:\n- port: 1\n  listeners:\n  - routes:\n${routes}`, { file: 'x', env: {} });
  assert.ok(result.ok);
});

test('stateless is for a program, and for one that may start again', () => {
  const target = (settings: string): string => `mcp: {port: 1, targets: [{name: a, ${settings}}]}`;
  const [program, server] = ['stdio: {cmd: x}', 'mcp: {host: "http://a/mcp"}'];
  assert.ok(load(target(`${program}, stateless: true`)).ok);
  assert.match(
    problemsOf(target(`${server}, stateless: true`)).join(),
    /stateless: is about a server that runs as a child process/,
  );
  assert.match(
    problemsOf(target(`${program}, stateless: true, resume: false`)).join(),
    /stateless: contradicts resume: false/,
  );
});

test('a policy about requests to servers is warned of where every server is a child process', () => {
  const stdio = '{name: a, stdio: {cmd: node}}';
  const remote = '{name: b, mcp: {host: "http://b/mcp"}}';
  const warned = (policy: string, targets: string): boolean =>
    loaded(
      `gateways: {default: {port: 1}}\nmcp: {targets: [${targets}], policies: {${policy}}}`,
    ).warnings.some(({ message }) => message.includes('no HTTP request is sent to them'));
  for (const policy of ['backendAuth: {key: k}', 'requestHeaderModifier: {set: {x-team: a}}']) {
    assert.equal(warned(policy, stdio), true, policy);
    assert.equal(warned(policy, `${stdio}, ${remote}`), false, policy);
  }
  assert.equal(warned('responseHeaderModifier: {set: {x-team: a}}', stdio), false);
});

test('cipher suites of which none belongs to an allowed version of TLS are refused', () => {
  const [older, newest] = ['TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256', 'TLS_AES_128_GCM_SHA256'];
  const listener = (tls: string) => `gateways: {default: {port: 1, tls: {cert: a.pem, key: a.key, ${tls}}}}`;
  const frontend = (tls: string) => `frontendPolicies: {tls: {${tls}}}`;
  for (const text of [
    listener(`cipherSuites: [${newest}], maxTLSVersion: TLS_V1_2`),
    listener(`cipherSuites: [${older}], minTlsVersion: TLS_V1_3`),
    frontend(`cipherSuites: [${newest}], maxVersion: TLS_V1_2`),
    frontend(`cipherSuites: [${older}], minVersion: TLS_V1_3`),
  ]) {
    const [problem = '', ...more] = problemsOf(text);
    assert.match(problem, /tls\.cipherSuites: none of them belongs to a version of TLS that is allowed$/);
    assert.deepEqual(more, []);
  }
  for (const tls of [`cipherSuites: [${older}]`, `cipherSuites: [${newest}]`, 'minTLSVersion: TLS_V1_3'])
    loaded(listener(tls));
});

test('a listener that TLS of all listeners leaves no version and suite for is warned of', () => {
  const warned = (frontend: string, own: string): readonly string[] =>
    loaded(
      `frontendPolicies: {tls: {${frontend}}}\ngateways: {web: {port: 1, tls: {cert: a.pem, key: a.key, ${own}}}}`,
    )
      .warnings.filter(({ path }) => path === 'frontendPolicies.tls')
      .map(({ message }) => message);
  for (const [frontend, own] of [
    ['minVersion: TLS_V1_3', 'maxTLSVersion: TLS_V1_2'],
    ['maxVersion: TLS_V1_2', 'cipherSuites: [TLS_AES_128_GCM_SHA256]'],
  ] as const) {
    const [message = '', ...more] = warned(frontend, own);
    assert.match(message, /^with the settings of the listener web, no version .*: no client can connect$/);
    assert.deepEqual(more, []);
  }
  assert.deepEqual(warned('minVersion: TLS_V1_3', 'maxTLSVersion: TLS_V1_3'), []);
});

test('a retry that repeats nothing is valid, and a warning names it', () => {
  const warned = (retry: object): string[] => {
    const routes = [{ policies: { retry: { codes: [503], ...retry } }, backends: [{ host: '127.0.0.1:9' }] }];
    const result = loadText(JSON.stringify({ binds: [{ port: 3000, listeners: [{ routes }] }] }), {
      file: 'c.yaml',
      env: {},
    });
    assert.ok(result.ok);
    return result.warnings.map(({ path, message }) => `${path}: ${message}`);
  };
  assert.deepEqual(warned({}), [
    'binds[0].listeners[0].routes[0].policies.retry: attempts is 1, which counts the first attempt: no request is repeated',
  ]);
  for (const retry of [{ attempts: 2 }, { hedge: { delay: '50ms' } }]) assert.deepEqual(warned(retry), []);
});
