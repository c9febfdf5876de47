import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compile, fromCel, isProblem, type Members } from '../../cel/index.ts';
import { FakeExchange, type FakeRequest } from '../exchange.testing.ts';
import { answerContext, contextFor } from './context.ts';
import { answerAttributes, forwardAttributes, requestAttributes } from './declared.ts';

/** The value of an expression, as JSON; the text of the problem if it fails or is refused. */
function value(
  source: string,
  fake: FakeRequest = {},
  attributes: Members = requestAttributes,
  answer?: { status: number; lines: [string, string][] },
): unknown {
  const program = compile(source, attributes);
  if (isProblem(program)) return program.message;
  const exchange = new FakeExchange(fake);
  const context = contextFor([program])(exchange);
  const response = answer && answerContext({ status: answer.status, lines: () => answer.lines }, exchange);
  const result = program.run(response === undefined ? context : { ...context, response }, exchange);
  return result instanceof Error ? `failed: ${result.message}` : fromCel(result);
}

const passage = {
  bind: '8443',
  listener: 'web/secure',
  gateway: { name: 'web', namespace: 'infra' },
  route: { name: 'shop', namespace: 'apps', kind: 'HTTPRoute', rule: 'cart' },
};

test('expressions see by which port, gateway, listener and route a request is served', () => {
  assert.deepEqual(
    value(
      '[proxy.bind, proxy.gateway.namespace, proxy.gateway.name, proxy.listener.name, proxy.route.namespace, ' +
        'proxy.route.name, proxy.route.kind, proxy.route.rule]',
      { passage },
    ),
    ['8443', 'infra', 'web', 'web/secure', 'apps', 'shop', 'HTTPRoute', 'cart'],
  );
  assert.deepEqual(value('proxy.route', { passage }), passage.route);
});

test('attributes that a route or gateway lacks are absent', () => {
  assert.equal(value('has(proxy.gateway)'), false);
  assert.equal(value('has(proxy.route.rule) || has(proxy.route.namespace)'), false);
  assert.equal(value('proxy.route.name'), 'route0');
  const unrouted = { bind: '1', listener: 'l', gateway: undefined, route: undefined };
  assert.equal(value('has(proxy.route)', { passage: unrouted }), false);
  assert.match(String(value('proxy.gateway.name')), /^failed: /);
});

test('the backend is known where one is chosen, and not before', () => {
  const chosen = { name: 'shop.internal:80', type: 'static', protocol: 'http' } as const;
  const source = '[backend.name, backend.type, backend.protocol]';
  assert.deepEqual(value(source, { chosen }, forwardAttributes), Object.values(chosen));
  assert.deepEqual(value(source, { chosen }, answerAttributes), Object.values(chosen));
  assert.match(String(value(source, { chosen })), /backend is not available here: no backend is chosen yet/);
});

test('timings are durations, where there are some', () => {
  const timing = { requestMs: 12.5, upstreamMs: 1_500 };
  assert.equal(value('proxy.upstreamDuration > duration("1s")', { timing }, answerAttributes), true);
  assert.equal(
    value('proxy.requestProcessingDuration == duration("12500us")', { timing }, answerAttributes),
    true,
  );
  assert.match(String(value('proxy.upstreamDuration', { timing })), /nothing was sent to a backend yet/);
  assert.match(
    String(value('proxy.responseProcessingDuration', { timing }, answerAttributes)),
    /has not been sent/,
  );
  assert.match(
    String(value('proxy.upstreamDuration == "1s"', { timing }, answerAttributes)),
    /a google.protobuf.Duration never equals a string/,
  );
});

test('the host that was asked for is the name of the handshake, or the Host where there is none', () => {
  assert.equal(
    value('destination.hostname', { scheme: 'https', serverName: 'a.test', host: 'b.test' }),
    'a.test',
  );
  assert.equal(value('destination.hostname', { host: 'b.test:80' }), 'b.test');
  assert.equal(value('has(destination.hostname)', { scheme: 'https', host: 'b.test' }), false);
});

test('the parts of a workload’s identity come from its SPIFFE id', () => {
  const subjectAltNames = ['x.test', 'spiffe://cluster.local/ns/shop/sa/cart'];
  assert.deepEqual(value('source.identity', { subjectAltNames }), {
    trustDomain: 'cluster.local',
    namespace: 'shop',
    serviceAccount: 'cart',
  });
  for (const other of ['spiffe://cluster.local/shop', 'spiffe://a/ns/b/sa/c/d', 'x.test'])
    assert.equal(value('has(source.identity)', { subjectAltNames: [other] }), false, other);
  assert.equal(value('has(source.identity)'), false);
});

test('the status of gRPC is known where it stands in the head of an answer', () => {
  const answer = (lines: [string, string][]) => ({ status: 200, lines });
  assert.equal(value('response.grpcStatus', {}, answerAttributes, answer([['grpc-status', '14']])), 14);
  for (const lines of [[], [['grpc-status', 'x']], [['grpc-status', '']]] as [string, string][][])
    assert.equal(value('has(response.grpcStatus)', {}, answerAttributes, answer(lines)), false);
});

test('names of the format that have no value here are refused with the reason, unknown ones as unknown', () => {
  for (const [source, reason] of [
    ['request.body == b""', /bodies pass through unread/],
    ['request.endTime == ""', /has not ended/],
    ['source.unverifiedWorkload.name == ""', /no workload discovery/],
    ['source.connectHeaders.x == ""', /CONNECT is not served/],
    ['jwt.rawToken == ""', /never see the token/],
    ['response.code == 1', /no answer yet/],
    ['extproc.x == 1', /does not exist here/],
    ['proxy.gatewey.name == ""', /has no member gatewey/],
    ['proxi.bind == ""', /proxi/],
  ] as const)
    assert.match(String(value(source)), reason, source);
});

test('the network of a client is its IPv4 address, or the /64 of its IPv6 address', () => {
  for (const [remoteAddress, network] of [
    ['192.0.2.7', '192.0.2.7'],
    ['::ffff:192.0.2.7', '192.0.2.7'],
    ['2001:db8:1:2:aaaa:bbbb:cccc:1', '2001:db8:1:2::/64'],
    ['2001:db8:1:2::2', '2001:db8:1:2::/64'],
  ] as const)
    assert.equal(value('source.network', { remoteAddress }), network);
});
