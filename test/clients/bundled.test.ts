/** The clients that are devDependencies. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { startBeforeEverything, startIdp } from '../e2e/stage.testing.ts';
import { testClients } from './clients.testing.ts';
import { inspect, inspectorIn } from './inspector.ts';
import { typescriptClients } from './typescript.ts';

const home = mkdtempSync(join(tmpdir(), 'clients-home-'));
after(() => rmSync(home, { recursive: true, force: true }));

testClients([
  ...typescriptClients,
  ...(['legacy', 'auto', 'modern'] as const).map((era) => inspectorIn(home, era)),
]);

test('the Inspector is refused without the group', async () => {
  await using idp = await startIdp();
  await using gateway = await startBeforeEverything(idp);
  const token = await idp.issueToken({ client: 'outsider' });
  const { code, out, err } = await inspect(home, `${gateway.url}/mcp`, token, '--method', 'tools/list');
  assert.notEqual(code, 0);
  assert.match(out + err, /403|forbidden|authorization/i);
});
