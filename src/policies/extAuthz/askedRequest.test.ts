import assert from 'node:assert/strict';
import { test } from 'node:test';
import { apiKey } from '../apiKey/index.ts';
import { FakeExchange } from '../exchange.testing.ts';
import type { HostCall, Policy } from '../policy.ts';
import { prepared, toolsWith } from '../tools.testing.ts';
import { transformations } from '../transformations/index.ts';
import { extAuthz } from './index.ts';

const key = 'key-0123456789';

/** The call of a service over the protocol, as text, for a request that policies before have seen. */
async function callOf(
  protocol: object,
  before: readonly (readonly [policy: Policy<never>, settings: object])[],
): Promise<string> {
  const calls: HostCall[] = [];
  const ask = (call: HostCall) => {
    calls.push(call);
    return Promise.resolve({ status: 200, headers: [], body: Buffer.alloc(0), trailers: [] });
  };
  const tools = { ...toolsWith([]), hosts: { use: () => ({ ask }) } };
  const exchange = new FakeExchange({
    target: `/a?key=${key}&b=1`,
    headers: [
      ['authorization', `Bearer ${key}`],
      ['cookie', `key=${key}; c=1`],
    ],
  });
  for (const [policy, settings] of before) await prepared(policy, settings).onRequest?.(exchange);
  await Promise.resolve(
    prepared(extAuthz, { host: 'authz.test:1', protocol }, tools).onRequest?.(exchange),
  ).catch(() => undefined);
  const [{ target, headers, body } = assert.fail('not asked')] = calls;
  return JSON.stringify([target, headers, body?.toString('latin1')]);
}

const keys = [{ key, metadata: {} }];
const takesKey = (location: object): readonly [Policy<never>, object] => [
  apiKey as Policy<never>,
  { mode: 'strict', keys, location },
];
const takesAll = [
  takesKey({ header: { name: 'authorization', prefix: 'Bearer ' } }),
  takesKey({ cookie: { name: 'key' } }),
  takesKey({ queryParameter: { name: 'key' } }),
];

test('expressions of the call send no credential to the service that policies took out of the request', async () => {
  const all = '[request.headers, request.uri, request.pathAndQuery]';
  const http = { path: 'request.pathAndQuery', body: all, addRequestHeaders: { 'x-all': all } };
  for (const protocol of [{ http }, { grpc: { metadata: { all: `{"all": ${all}}` } } }]) {
    const call = await callOf(protocol, takesAll);
    assert.ok(!call.includes(key), call);
    for (const kept of ['c=1', '/a?b=1']) assert.ok(call.includes(kept), call);
  }
});

test('the service gets the query of the client, whatever target the backend gets', async () => {
  const rewrites = [
    transformations as Policy<never>,
    { request: { set: { ':path': '"/v1" + request.path + "?c=2"' } } },
  ] as const;
  for (const protocol of [{ http: {} }, { grpc: {} }]) {
    const call = await callOf(protocol, [rewrites, takesKey({ queryParameter: { name: 'key' } })]);
    assert.ok(call.includes('/a?b=1'), call);
  }
});
