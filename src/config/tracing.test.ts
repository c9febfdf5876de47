import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadText } from './load.ts';

const load = (tracing: unknown) =>
  loadText(JSON.stringify({ config: { tracing }, binds: [] }), { file: 'test.yaml', env: {} });

const problemsOf = (tracing: unknown): string => {
  const result = load(tracing);
  return result.ok ? '' : result.problems.map(({ path, message }) => `${path}: ${message}`).join('\n');
};

test('config.tracing has its defaults', () => {
  const result = load({ otlpEndpoint: 'http://collector:4317' });
  assert.ok(result.ok);
  assert.deepEqual(result.model.process.fixed.tracing, {
    endpoint: 'http://collector:4317/',
    protocol: 'grpc',
    headers: [],
    randomSampling: false,
    clientSampling: true,
  });
});

test('config.tracing has a filter and resources, over which those of frontendPolicies.tracing go', () => {
  const tracing = {
    otlpEndpoint: 'http://c',
    filter: 'response.code == 1',
    resources: { 'service.name': '"a"', 'service.version': '"1"' },
  };
  const alone = load(tracing);
  const both = loadText(
    JSON.stringify({
      config: { tracing },
      frontendPolicies: {
        tracing: { host: 'c:1', filter: 'response.code == 2', resources: { 'service.name': '"b"' } },
      },
      binds: [],
    }),
    { file: 'test.yaml', env: {} },
  );
  assert.ok(alone.ok && both.ok);
  const seen = [alone, both].map(({ model }) => {
    const { filter, resources } = model.process.fixed.tracing ?? {};
    return [filter, resources];
  });
  assert.deepEqual(seen, [
    ['response.code == 1', { 'service.name': 'a', 'service.version': '1' }],
    ['response.code == 2', { 'service.name': 'b', 'service.version': '1' }],
  ]);
});

test('exports over HTTP have a path', () => {
  const endpoint = (settings: object): string | undefined => {
    const result = load({ otlpProtocol: 'http', ...settings });
    return result.ok ? result.model.process.fixed.tracing?.endpoint : undefined;
  };
  assert.equal(endpoint({ otlpEndpoint: 'https://c:4318' }), 'https://c:4318/v1/traces');
  assert.equal(endpoint({ otlpEndpoint: 'http://c/base/', path: '/t' }), 'http://c/base/t');
  assert.equal(endpoint({ otlpEndpoint: 'http://c/base/?tenant=7' }), 'http://c/base/v1/traces?tenant=7');
  assert.equal(endpoint({ otlpEndpoint: 'http://c/?key=a?b' }), 'http://c/v1/traces?key=a?b');
  assert.equal(endpoint({ otlpEndpoint: 'http://c?a=1', path: '/t?b=2' }), 'http://c/t?b=2&a=1');
});

test('settings of config.tracing that cannot work are refused by name', () => {
  const problemsWith = (settings: object): string => problemsOf({ otlpEndpoint: 'http://c', ...settings });
  assert.match(problemsOf({}), /otlpEndpoint/);
  assert.match(problemsOf({ otlpEndpoint: 'collector:4317' }), /an http or https address/);
  assert.match(problemsOf({ otlpEndpoint: 'http://u:p@c' }), /write the credential in headers/);
  assert.match(problemsWith({ randomSampling: 2 }), /randomSampling/);
  assert.match(problemsWith({ randomSampling: '1.5' }), /a share from 0 to 1/);
  assert.match(
    problemsWith({ randomSampling: '"text"' }),
    /expected a number, true or false; this is a string/,
  );
  assert.match(problemsWith({ clientSampling: 'response.code == 1' }), /clientSampling: .*no answer yet/);
  for (const caller of ['jwt.sub', 'auth.claims.sub', 'apiKey.id', 'basicAuth.username'])
    assert.match(
      problemsWith({ randomSampling: `${caller} == "a"` }),
      /sampled before its policies know the caller/,
    );
  assert.match(
    problemsWith({ randomSampling: 'proxy.route.name == "a"' }),
    /sampled before it has a listener/,
  );
  assert.match(problemsWith({ fields: { add: { a: 'jwt.rawToken' } } }), /never see the token/);
  assert.match(problemsWith({ headers: { 'a b': 'c' } }), /the name of a header/);
});

test('frontendPolicies.tracing goes before config.tracing, without the headers of the other collector', () => {
  const tracing = { randomSampling: 0.1, fields: { add: { a: '1', b: '2' }, remove: ['url.path'] } };
  const result = loadText(
    JSON.stringify({
      config: { tracing: { ...tracing, headers: { 'x-key': 'k' } } },
      frontendPolicies: {
        tracing: {
          host: 'https://c',
          attributes: { a: '3' },
          remove: ['client.address'],
          clientSampling: false,
          filter: 'response.code >= 400',
          resources: { 'service.name': '"edge-" + string(1 + 1)', ring: '2', canary: 'true' },
        },
      },
      binds: [],
    }),
    { file: 'test.yaml', env: {} },
  );
  assert.deepEqual(result.ok ? result.model.process.fixed.tracing : result.problems, {
    endpoint: 'https://c/',
    protocol: 'grpc',
    headers: [],
    randomSampling: 0.1,
    clientSampling: false,
    add: { a: '3', b: '2' },
    remove: ['url.path', 'client.address'],
    resources: { 'service.name': 'edge-2', ring: 2, canary: true },
    filter: 'response.code >= 400',
  });
});

test('settings of frontendPolicies.tracing that cannot work are refused by name', () => {
  const problemsWith = (settings: object): string => {
    const frontendPolicies = { tracing: { host: 'c:1', ...settings } };
    const result = loadText(JSON.stringify({ frontendPolicies, binds: [] }), { file: 'test.yaml', env: {} });
    return result.ok ? '' : result.problems.map(({ path, message }) => `${path}: ${message}`).join('\n');
  };
  assert.equal(problemsWith({}), '');
  assert.match(problemsWith({ backend: 'b' }), /exactly one of host, backend/);
  assert.match(problemsWith({ policies: {} }), /tracing\.policies: .*not built/);
  assert.match(problemsWith({ resources: { a: 'request.path' } }), /resources\.a: .*request/);
  for (const value of ['[1]', 'duration("1s")', '[timestamp(0)]', '9007199254740993'])
    assert.match(
      problemsWith({ resources: { a: value } }),
      /resources\.a: .*comes to a text, a number, true or false/,
      value,
    );
  assert.match(problemsWith({ resources: { a: '1 / 0' } }), /always fails/);
  assert.match(problemsWith({ filter: '1' }), /must come to true or false/);
});
