import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { Reach } from '../../contract.ts';
import { reachOf } from './server.testing.ts';
import { requestHead } from './serverRequestHead.ts';

const nobody = { id: undefined, version: undefined };
const trusting = { insecure: true, insecureHost: false, subjectAltNames: [] };

const headTo = (t: TestContext, host: string, port: number, more: Partial<Reach> = {}, tls = false): string =>
  requestHead('POST', reachOf(t, { host, port, ...(tls && { tls: trusting }) }, more).reach, nobody, []);

test('Host leaves out the port that the scheme implies, and has an IPv6 address in brackets', (t) => {
  const hostOf = (
    ...args: [host: string, port: number, more?: Partial<Reach>, tls?: boolean]
  ): string | undefined => /\r\nhost: (.*)\r\n/.exec(headTo(t, ...args))?.[1];
  assert.equal(hostOf('app.test', 80), 'app.test');
  assert.equal(hostOf('app.test', 443), 'app.test:443');
  assert.equal(hostOf('app.test', 443, {}, true), 'app.test');
  assert.equal(hostOf('app.test', 80, {}, true), 'app.test:80');
  assert.equal(hostOf('::1', 8080), '[::1]:8080');
  assert.equal(hostOf('app.test', 80, { authority: 'other.test:1' }), 'other.test:1');
});

test('session and revision stand in the head once they are known, and its own fields behind them', (t) => {
  const { reach } = reachOf(t, { host: 'app.test', port: 80 });
  const head = requestHead('GET', reach, { id: 's1', version: '2025-06-18' }, [
    ['accept', 'text/event-stream'],
  ]);
  assert.equal(
    head,
    [
      'GET /mcp HTTP/1.1',
      'host: app.test',
      'user-agent: portcullis',
      'mcp-session-id: s1',
      'mcp-protocol-version: 2025-06-18',
      'accept: text/event-stream',
      '\r\n',
    ].join('\r\n'),
  );
  assert.doesNotMatch(headTo(t, 'app.test', 80), /mcp-session|mcp-protocol/);
});

test('policies may add fields and set the user agent, but say nothing about what the message is', (t) => {
  const head = headTo(t, 'app.test', 80, {
    headers: [
      ['authorization', 'Bearer x'],
      ['user-agent', 'mine'],
      ['host', 'evil.test'],
      ['content-length', '0'],
      ['transfer-encoding', 'chunked'],
      ['mcp-session-id', 'stolen'],
    ],
  });
  assert.match(head, /\r\nauthorization: Bearer x\r\n/);
  assert.match(head, /\r\nuser-agent: mine\r\n/);
  assert.doesNotMatch(head, /evil|content-length|chunked|stolen|portcullis/);
});
