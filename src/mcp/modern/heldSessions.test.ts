import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RequestSigner } from '../../http/index.ts';
import type { McpBackend } from '../../model/index.ts';
import type { Caller, Reach } from '../contract.ts';
import { keyOf } from './heldSessions.ts';

const settings = { key: 'tools', targets: [{ name: 'agent' }] } as unknown as McpBackend;
const meta = { capabilities: {} } as Parameters<typeof keyOf>[2];

/** An anonymous caller whose requests to the server are signed with one credential. */
function callerWith(digest: string): Caller {
  const signer: RequestSigner = { needsBody: true, digest, sign: (head) => head };
  const reach = { path: '/mcp', headers: [], signer } as unknown as Reach;
  return { principal: undefined, reach: () => reach } as unknown as Caller;
}

test('anonymous callers share a session only if the gateway signs for them with the same credential', () => {
  const [one, same, other] = ['a', 'a', 'b'].map((digest) => keyOf(settings, callerWith(digest), meta));
  assert.equal(one, same);
  assert.notEqual(one, other);
});
