import assert from 'node:assert/strict';
import { test } from 'node:test';
import { proxyName } from './names.ts';
import { chosenParameters, readParameters } from './parameters.ts';

test('parameters of a Gateway override those of its class, field by field', () => {
  assert.deepEqual(
    chosenParameters(
      { image: 'a', logLevel: 'warn', service: { type: 'NodePort', annotations: { a: '1' } } },
      { logLevel: 'debug', service: { externalTrafficPolicy: 'Local' } },
    ),
    {
      image: 'a',
      logLevel: 'debug',
      replicas: undefined,
      autoscaling: undefined,
      service: { type: 'NodePort', annotations: { a: '1' }, externalTrafficPolicy: 'Local' },
      overlays: [],
    },
  );
});

test('a number of replicas replaces an autoscaler, and the other way round', () => {
  const scaled = { autoscaling: { maxReplicas: 3 } };
  assert.equal(chosenParameters(scaled, { replicas: 2 }).autoscaling, undefined);
  assert.equal(chosenParameters({ replicas: 2 }, scaled).replicas, undefined);
  assert.deepEqual(chosenParameters(scaled, {}).autoscaling, { maxReplicas: 3 });
});

test('an attribute of the proxy that comes to a time is a problem of the parameters', () => {
  const tracing = { otlpEndpoint: 'http://collector:4317', resources: { age: 'duration("1s")' } };
  assert.match(
    JSON.stringify(readParameters({ tracing })),
    /"problem":.*comes to a text, a number, true or false/,
  );
});

test('overlays apply in order, so that a null in the second removes a default', () => {
  const overlay = (spec: object) => ({ overlays: { deployment: { spec: { ...spec } } } });
  const [first, second] = [overlay({ a: 1 }), overlay({ b: null })];
  assert.deepEqual(chosenParameters(first, second).overlays, [first.overlays, second.overlays]);
  assert.deepEqual(chosenParameters(first, {}).overlays, [first.overlays]);
});

test('objects are called as their Gateway wherever a Service can be', () => {
  assert.equal(proxyName('http'), 'http');
  const odd = ['a.b', 'a-b.', '1st', 'x'.repeat(64), `${'x'.repeat(48)}.a`, `${'x'.repeat(48)}.b`].map(
    proxyName,
  );
  for (const name of odd) assert.match(name, /^[a-z](?:[-a-z0-9]{0,61}[a-z0-9])?$/);
  assert.equal(new Set(odd).size, odd.length);
  assert.notEqual(proxyName('a.b'), proxyName('a-b'));
});

test('settings that make no sense in a pod are refused with a reason', () => {
  const cases: readonly (readonly [object, RegExp])[] = [
    [{ audit: { sink: { file: { path: '/tmp/a' } } } }, /audit\.sink\.file\.path: expected a file in /],
    [{ audit: { sink: { file: { path: '/var/log/portcullis/../a' } } } }, /expected a file in /],
    [{ audit: { sink: { file: { path: '/var/log/portcullis/a' } } } }, /a file needs audit\.volume/],
    [{ audit: { sink: { stdout: {} }, chain: {} } }, /audit\.chain: needs secretName/],
    [{ audit: { sink: { stdout: {} }, required: true } }, /audit\.required: needs sink\.file or sink\.http/],
    [{ audit: { sink: {} } }, /expected exactly one of stdout, file, http/],
    [
      { audit: { sink: { http: { url: 'http://a', token: 'b' } } } },
      /token: the token is the entry token of/,
    ],
    [{ audit: { sink: { http: { url: 'http://a:b@c' } } } }, /expected no user and password/],
    [{ audit: { sink: { stdout: {} }, volume: {} } }, /expected exactly one of emptyDir, persistent/],
    [{ tracing: {} }, /tracing\.otlpEndpoint: /],
    [{ tracing: { otlpEndpoint: 'http://a', headers: 'b: c' } }, /headers: the entries of the Secret/],
    [{ tracing: { otlpEndpoint: 'http://a', randomSampling: '1.5' } }, /randomSampling: expected a share/],
    [{ tracing: { otlpEndpoint: 'http://a', filter: 'nothing.here' } }, /tracing\.filter: /],
    [{ logging: { level: 'debug' } }, /logging\.level: this is the field logLevel/],
    [{ logging: { filter: 'request.' } }, /logging\.filter: /],
    [{ logging: { otlp: { otlpEndpoint: 'ftp://a' } } }, /expected an http or https address/],
  ];
  for (const [spec, why] of cases) {
    const read = readParameters(spec);
    assert.match('problem' in read ? read.problem : '', why, JSON.stringify(spec));
  }
});

test('settings of proxies stay as they are written', () => {
  const spec = {
    audit: { sink: { http: { url: 'http://a', timeout: '2s' } }, arguments: 'redacted', redact: ['$.a'] },
    tracing: { otlpEndpoint: 'http://a', resources: { 'service.name': '"edge"' } },
    logging: { accessLog: 'json' },
  };
  assert.deepEqual(readParameters(spec), { parameters: spec });
});
