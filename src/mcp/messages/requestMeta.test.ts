import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readEnvelope, type Envelope } from '../json/envelope.ts';
import { metaKeys, modernVersion } from './eras.ts';
import { carriesRevision, claimsModern, inMeta, readRequestMeta } from './requestMeta.ts';

const usual = {
  [metaKeys.protocolVersion]: modernVersion,
  [metaKeys.clientInfo]: { name: 'client', version: '1' },
  [metaKeys.clientCapabilities]: { elicitation: {} },
};

function requestWith(meta: object): Envelope {
  const params = { name: 'echo', _meta: meta };
  const read = readEnvelope(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }));
  assert.ok(typeof read === 'object');
  return read;
}

/** The answers that the steps of a call get about a request. */
function learned(request: Envelope) {
  const token = inMeta(request, 'progressToken');
  return {
    isModern: claimsModern(request),
    meta: readRequestMeta(request),
    isKnownOnItsWay: carriesRevision(request),
    token: typeof token === 'object' ? request.text.slice(token.start, token.end) : token,
  };
}

test('a repeated _meta is read as the first time', () => {
  const first = learned(requestWith(usual));
  assert.deepEqual(learned(requestWith(usual)), first);
  assert.deepEqual(first, {
    isModern: true,
    meta: {
      version: modernVersion,
      capabilities: '{"elicitation":{}}',
      clientInfo: '{"name":"client","version":"1"}',
      logLevel: undefined,
    },
    isKnownOnItsWay: true,
    token: undefined,
  });
});

test('a progress token is found beside members that were read before', () => {
  learned(requestWith(usual));
  for (const progressToken of ['a', 'b'])
    assert.equal(learned(requestWith({ ...usual, progressToken })).token, `"${progressToken}"`);
  const request = requestWith(usual);
  // Another request comes between two steps of a call.
  learned(request);
  learned(requestWith({ progressToken: 7 }));
  assert.equal(inMeta(request, 'progressToken'), undefined);
  assert.equal(carriesRevision(request), true);
});

test('a _meta without a revision claims none', () => {
  assert.deepEqual(learned(requestWith({ progressToken: 1 })), {
    isModern: false,
    meta: `_meta needs ${metaKeys.protocolVersion}, a string`,
    isKnownOnItsWay: false,
    token: '1',
  });
});
