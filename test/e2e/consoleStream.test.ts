/** The page Traffic of the console: requests reach it by a stream, few or very many. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { before, test } from 'node:test';
import { until } from '../../src/until.testing.ts';
import { builtConsole } from '../support/builtConsole.ts';
import { operatorOf } from './adminApi.testing.ts';
import { journey, openConsole, startConsoleStage } from './console.testing.ts';

before(() => void builtConsole());

/** A stream of so many requests, with the paths `/number/0` and so on. */
function eventsOf(count: number): string {
  const record = (nth: number): string =>
    JSON.stringify({
      time: 1_790_000_000_000 + nth,
      durationMs: 1,
      method: 'GET',
      host: 'localhost',
      path: `/number/${nth}`,
      status: 200,
      requestBytes: 0,
      responseBytes: 0,
      client: '127.0.0.1',
      requestId: `id-${nth}`,
      bind: '0',
    });
  return Array.from({ length: count }, (_, nth) => `event: request\ndata: ${record(nth)}\n\n`).join('');
}

test('ten thousand requests leave the page usable', journey, async () => {
  await using stage = await startConsoleStage();
  await using console = await openConsole(stage.gateway, {
    prepare: async (page) => {
      await page.route('**/api/v1/requests', (route) =>
        route.fulfill({ contentType: 'text/event-stream', body: eventsOf(10_000) }),
      );
    },
  });
  const { page } = console;
  const rows = page.getByRole('table', { name: 'Requests' }).getByRole('row');
  await page.getByText('10000 of 10000 requests').waitFor();
  assert.equal(await rows.count(), 101);
  await page.getByRole('button', { name: /older requests/ }).click();
  await until('the older rows', async () => (await rows.count()) === 201);
  await page.getByLabel('Path, tool, route or rule').fill('/number/123');
  await page.getByText('11 of 10000 requests').waitFor();
  await rows.nth(1).getByRole('button').click();
  await page.getByRole('dialog', { name: 'Why' }).waitFor();
  assert.deepEqual(console.offences, []);
});

/** Sends requests that a rule refuses, many on each connection. */
async function flood(url: string, count: number): Promise<void> {
  const { port, host } = new URL(url);
  const connections = 10;
  await Promise.all(
    Array.from({ length: connections }, async () => {
      const socket = connect(Number(port), '127.0.0.1');
      const request = `GET /app HTTP/1.1\r\nhost: ${host}\r\nx-who: eve\r\n\r\n`;
      const last = `GET /app HTTP/1.1\r\nhost: ${host}\r\nx-who: eve\r\nconnection: close\r\n\r\n`;
      socket.resume().end(request.repeat(count / connections - 1) + last);
      await once(socket, 'close');
    }),
  );
}

test(
  'a flood of requests leaves the page usable, and the page says how many it left out',
  journey,
  async () => {
    await using stage = await startConsoleStage();
    await using console = await openConsole(stage.gateway);
    const { page, open } = console;
    await page.getByText(/^Connected/).waitFor();
    await flood(stage.gateway.url, 10_000);
    await open('Playground');
    await open('Traffic');
    await page.getByLabel('Path, tool, route or rule').fill('/app/later');
    const later = page.getByRole('row', { name: /denied 403 GET \/app\/later/ }).first();
    // The second of the flood has no room for a further record.
    await until('the record of a later request', async () => {
      await fetch(`${stage.gateway.url}/app/later`, { headers: { 'x-who': 'eve' } });
      return await later.isVisible();
    });
    await page.getByText(/[1-9]\d* left out because they came too fast/).waitFor();
    await later.getByRole('button').click();
    await page.getByRole('dialog', { name: 'Why' }).getByText('not eve').first().waitFor();
    const { rates } = (await operatorOf(stage.gateway)('GET', '/api/v1/status')).json as {
      readonly rates: { readonly refusals: number };
    };
    // A gateway on a busy machine sheds load, and then closes connections with requests that it did not judge.
    assert.ok(rates.refusals > 1_000, `${rates.refusals} refusals`);
    assert.deepEqual(console.offences, []);
  },
);

/** Counts the events of streams and the updates of the table of requests, from the first script of the page on. */
const countEvents = `{
  globalThis.heard = 0;
  globalThis.updates = 0;
  globalThis.mostRows = 0;
  const Original = EventSource;
  globalThis.EventSource = class extends Original {
    constructor(url) {
      super(url);
      this.addEventListener('request', () => (globalThis.heard += 1));
    }
  };
  new MutationObserver(() => {
    const rows = document.querySelectorAll('table[aria-label="Requests"] tr').length;
    if (rows === 0) return;
    globalThis.updates += 1;
    globalThis.mostRows = Math.max(globalThis.mostRows, rows);
  }).observe(document, { childList: true, subtree: true });
}`;

test(
  'a request reaches the page by its stream, without a poll or a reload, within one interval',
  journey,
  async () => {
    await using stage = await startConsoleStage();
    let asked = 0;
    let isHeld = false;
    await using console = await openConsole(stage.gateway, {
      prepare: async (page) => {
        await page.clock.install();
        await page.addInitScript(countEvents);
        await page.route('**/api/v1/**', async (route) => {
          if (new URL(route.request().url()).pathname === '/api/v1/requests') asked += 1;
          // The polls of the page get no answers.
          if (!isHeld) await route.continue();
        });
      },
    });
    const { page } = console;
    const number = (name: string): Promise<number> => page.evaluate<number>(`globalThis.${name}`);
    const row = page.getByRole('row', { name: /denied 403 GET \/app\/now.*not eve/ });
    await page.getByText(/^Connected/).waitFor();
    isHeld = true;
    await page.evaluate('globalThis.isSamePage = true');
    // The clock of the page stands still, so no timer of the page brings the row.
    await page.clock.pauseAt(Date.now() + 3_600_000);
    const before = await number('heard');
    await fetch(`${stage.gateway.url}/app/now`, { headers: { 'x-who': 'eve' } });
    await until('the event of the request', async () => (await number('heard')) > before);
    assert.equal(await row.count(), 0);
    await page.clock.runFor(250);
    await row.waitFor();
    assert.equal(await page.evaluate('globalThis.isSamePage'), true);
    assert.equal(asked, 1, 'the page opened one stream');
    assert.deepEqual(console.offences, []);
  },
);

test(
  'requests that come at a high rate change the page once in an interval, and its rows stay few',
  journey,
  async () => {
    await using stage = await startConsoleStage();
    await using console = await openConsole(stage.gateway, {
      prepare: async (page) => {
        await page.clock.install();
        await page.addInitScript(countEvents);
        await page.route('**/api/v1/requests', async (route) => {
          await page.clock.pauseAt(Date.now() + 3_600_000);
          await route.fulfill({ contentType: 'text/event-stream', body: eventsOf(5_000) });
        });
      },
    });
    const { page } = console;
    const number = (name: string): Promise<number> => page.evaluate<number>(`globalThis.${name}`);
    await until('the events', async () => (await number('heard')) >= 5_000);
    assert.equal(await number('updates'), 0);
    await page.clock.runFor(250);
    await page.getByText('5000 of 5000 requests').waitFor();
    assert.deepEqual([await number('updates'), await number('mostRows')], [1, 101]);
    assert.deepEqual(console.offences, []);
  },
);
