/** The audit stream of a gateway, as an operator reads it. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { RawModernClient } from '../../src/mcp/rawModernClient.testing.ts';
import { AuditFolder, startAudited } from './audit.testing.ts';
import { openSession } from './session.testing.ts';
import { startIdp } from './stage.testing.ts';

const sinkOf = (folder: AuditFolder): object => ({ sink: { file: { path: folder.file } } });

describe('the audit stream', () => {
  test('a call names its caller, item, target, arguments and outcome', async (t) => {
    const folder = new AuditFolder(t);
    await using idp = await startIdp();
    const token = await idp.issueToken({ user: 'alice' });
    {
      await using gateway = await startAudited({ audit: { ...sinkOf(folder), groupsClaim: 'groups' }, idp });
      const session = await openSession(gateway.url, token);
      await session.call('echo', { text: 'hello', options: { depth: 2 }, tags: ['a', 'b'] });
      await session.close();
    }
    const [call] = folder.of('tools/call');
    assert.partialDeepStrictEqual(call, {
      'metadata.version': '1.6.0',
      class_uid: 6003,
      activity_id: 99,
      type_uid: 600399,
      'actor.user.uid': 'alice',
      'actor.user.groups': ['mcp-users'],
      'actor.session.issuer': idp.issuer,
      'mcp.kind': 'tool',
      'mcp.name': 'echo',
      'mcp.target': 'target',
      'mcp.arguments': { text: 'string', options: { depth: 'number' }, tags: ['string'] },
      'mcp.outcome': 'ok',
      status: 'Success',
      action: 'Allowed',
      route: 'tools',
    });
    const operations = folder.lines.map((line) => line['api.operation']);
    assert.deepEqual(operations.toSorted(), [
      'gateway.start',
      'gateway.stop',
      'initialize',
      'session/delete',
      'tools/call',
    ]);
    const labels = new Set(
      folder.lines.filter((line) => line['class_uid'] === 6003).map((line) => line['mcp.session']),
    );
    assert.equal(labels.size, 2, 'one session, and lines without a session');
    assert.ok(!folder.text.includes(token), 'no token');
    assert.ok(!folder.text.includes('hello'), 'no value');
  });
});
void RawModernClient;
