import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadText } from './load.ts';

const load = (document: object) =>
  loadText(JSON.stringify({ ...document, binds: [] }), { file: 'test.yaml', env: {} });

const problemsOf = (document: object): string => {
  const result = load(document);
  return result.ok ? '' : result.problems.map(({ path, message }) => `${path}: ${message}`).join('\n');
};

test('access log settings of frontendPolicies go before those of config', () => {
  const result = load({
    config: { logging: { filter: 'true', fields: { add: { a: '1', b: '2' }, remove: ['host'] } } },
    frontendPolicies: { logging: { add: { a: '3' }, remove: ['path'] } },
  });
  assert.ok(result.ok);
  assert.deepEqual(result.model.process.accessFields, {
    filter: 'true',
    add: { a: '3', b: '2' },
    remove: ['host', 'path'],
  });
});

test('without changes the model has none', () => {
  const result = load({ config: { logging: { fields: {} } }, frontendPolicies: { accessLog: {} } });
  assert.ok(result.ok);
  assert.equal(result.model.process.accessFields, undefined);
});

test('settings of the access log that cannot work are refused by name', () => {
  const logging = (settings: object): string => problemsOf({ config: { logging: settings } });
  assert.match(logging({ database: {} }), /logging\.database: .*not built/);
  assert.match(logging({ filter: 'request.pth == ""' }), /logging\.filter: .*pth/);
  assert.match(logging({ filter: '1' }), /must come to true or false/);
  assert.match(logging({ fields: { add: { a: 'jwt.rawToken' } } }), /add.*a: .*never see the token/);
  assert.match(logging({ fields: { add: { a: 'mcp.tool.arguments' } } }), /audit stream/);
  assert.match(logging({ fields: { remove: ['http.path'] } }), /http\.path.*|is no field of the access log/);
  assert.match(logging({ fields: { remove: ['status'] } }), /every line has this field/);
  assert.match(problemsOf({ frontendPolicies: { accessLog: { database: {} } } }), /database: .*not built/);
  assert.match(problemsOf({ frontendPolicies: { accessLog: {}, logging: {} } }), /same field as accessLog/);
});

const collector = { otlpEndpoint: 'http://c:4317' };

test('the export of the access log has the changes of the access log, unless it has its own', () => {
  const exported = (logging: object, accessLog?: object) => {
    const result = load({
      config: { logging },
      ...(accessLog && { frontendPolicies: { accessLog } }),
      backends: [{ name: 'far', host: '[::1]:4318' }],
    });
    return result.ok ? result.model.process.fixed.logExport : result.problems;
  };
  const target = { endpoint: 'http://c:4317/', protocol: 'grpc', headers: [] };
  const ofLine = { filter: 'true', fields: { add: { a: '1' }, remove: ['host'] } };
  assert.deepEqual(exported({ ...ofLine, otlp: collector }), {
    ...target,
    filter: 'true',
    add: { a: '1' },
    remove: ['host'],
  });
  assert.deepEqual(
    exported({
      ...ofLine,
      otlp: { ...collector, filter: 'response.code == 500', fields: { add: { b: '2' } } },
    }),
    { ...target, filter: 'response.code == 500', add: { b: '2' } },
  );
  const own = { ...collector, headers: { 'x-key': 'k' } };
  assert.deepEqual(exported({ otlp: own }, { otlp: { backend: 'far', protocol: 'http' } }), {
    endpoint: 'http://[::1]:4318/v1/logs',
    protocol: 'http',
    headers: [],
  });
});

test('exports that cannot work are refused by name', () => {
  const otlp = (settings: object, backends: object[] = []): string =>
    problemsOf({ frontendPolicies: { accessLog: { otlp: settings } }, backends });
  assert.match(otlp({}), /otlp: expected exactly one of host, backend/);
  assert.match(otlp({ host: 'c' }), /host: expected name:port/);
  assert.match(otlp({ service: {} }), /service: .*not built/);
  assert.match(otlp({ host: 'c:1', policies: {} }), /policies: .*not built/);
  assert.match(otlp({ backend: 'nowhere' }), /there is no backend "nowhere"/);
  assert.match(otlp({ backend: 'm' }, [{ name: 'm', mcp: { targets: [] } }]), /m is no server with a `host`/);
  assert.match(
    otlp({ backend: 't' }, [{ name: 't', host: 'c:1', policies: { backendTLS: {} } }]),
    /t has `policies`, which collectors do not use/,
  );
  assert.match(problemsOf({ config: { logging: { otlp: {} } } }), /otlpEndpoint/);
  assert.match(
    problemsOf({ config: { logging: { otlp: { ...collector, fields: { remove: ['status'] } } } } }),
    /every line has this field/,
  );
});
