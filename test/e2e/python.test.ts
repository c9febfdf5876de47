import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { GatewayProcess } from './gateway.testing.ts';
import { installPython } from './python.testing.ts';
import { startBeforeEverything, startIdp } from './stage.testing.ts';
import { until } from '../../src/until.testing.ts';

const script = fileURLToPath(new URL('./python/client.py', import.meta.url));
const run = promisify(execFile);

const installed = installPython('mcp==2.3.0');

describe('the Python SDK’s client', { skip: 'missing' in installed && installed.missing }, () => {
  let idp: Awaited<ReturnType<typeof startIdp>>;
  let gateway: GatewayProcess;

  before(async () => {
    idp = await startIdp();
    gateway = await startBeforeEverything(idp);
  });
  after(async () => {
    await gateway?.stop();
    await idp?.close();
  });

  for (const [mode, revision] of [
    ['legacy', '2025-11-25'],
    ['auto', '2026-07-28'],
  ] as const)
    test(`works through the gateway, negotiating the revision by ${mode}`, async () => {
      const { stdout } = await run('python3', ['-s', script, `${gateway.url}/mcp`, mode], {
        env: {
          ...process.env,
          PYTHONPATH: 'folder' in installed ? installed.folder : '',
          TOKEN: await idp.issueToken({ user: 'alice' }),
        },
      });
      const seen = JSON.parse(stdout) as Record<string, unknown>;
      const { tools, resources, resource, sampling, elicitation, roots, progress, ...rest } = seen;
      for (const tool of ['echo', 'trigger-sampling-request', 'get-roots-list'])
        assert.ok((tools as string[]).includes(tool), `${tool} is not in ${String(tools)}`);
      assert.ok((resources as string[]).includes('architecture.md'));
      assert.match(String(resource), /^Resource 7/);
      assert.match(String(sampling), /a sampled answer/);
      assert.match(String(elicitation), /Name: Ada Lovelace/);
      assert.match(String(roots), /file:\/\/\/srv\/first/);
      // On a busy machine, the client ends a call before it has looked at all progress that came before the response.
      const steps = (progress as [number, number][]).map(([step, total]) => (total === 4 ? step : 0));
      assert.ok(steps.length >= (mode === 'legacy' ? 4 : 2), String(steps));
      assert.deepEqual(
        steps,
        [1, 2, 3, 4].filter((step) => steps.includes(step)),
      );
      assert.deepEqual(rest, {
        echo: 'Echo: from Python',
        structured: { temperature: 36, conditions: 'Light rain / drizzle', humidity: 82 },
        prompt: "What's weather in Turin?",
        completion: ['Engineering'],
        updates: ['demo://resource/dynamic/text/1'],
        revision,
      });
    });

  test('is refused with a token of another audience', async () => {
    const refused = run('python3', ['-s', script, `${gateway.url}/mcp`, 'legacy'], {
      env: {
        ...process.env,
        PYTHONPATH: 'folder' in installed ? installed.folder : '',
        TOKEN: await idp.issueToken({ user: 'alice', audience: 'api://other' }),
      },
    });
    await assert.rejects(refused);
    // This client does not tell why, but the gateway does.
    await until('the access log', () =>
      / 401 POST \S+\/mcp .* error=token_invalid/.test(gateway.accessLog()),
    );
  });
});
