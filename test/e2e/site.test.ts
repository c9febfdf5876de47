/** The documentation site: its build without a network, and its search in a browser. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile, stat } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { extname, join } from 'node:path';
import { before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { chromium } from 'playwright-core';
import { browserPath } from './console.testing.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const dist = join(root, 'site/dist');

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html',
  '.css': 'text/css',
  '.js': 'text/javascript',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
};

/** Serves the built files on a free port. */
async function serve(): Promise<{ readonly url: string } & AsyncDisposable> {
  const server = createServer((request, response) => {
    const send = async (): Promise<void> => {
      const path = join(dist, decodeURIComponent(new URL(request.url ?? '/', 'http://x').pathname));
      const file = (await stat(path)).isDirectory() ? join(path, 'index.html') : path;
      response.setHeader('content-type', types[extname(file)] ?? 'application/octet-stream');
      response.end(await readFile(file));
    };
    send().catch(() => response.writeHead(404).end());
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  return {
    url: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Words that users search for, and a page that the dialog must show without a click for more. */
const searches: readonly (readonly [words: string, path: string])[] = [
  ['invalid issuer', '/how-to/refused-tokens/'],
  ['CORS', '/policies/cors/'],
  ['federation', '/federation/'],
  ['step-up', '/how-to/rules/'],
  ['sessionTtl', '/reference/fields/config/'],
  ['portcullis_requests_total', '/metrics/'],
  ['token_invalid', '/errors/'],
];

describe('the documentation site', () => {
  before(async () => {
    // A proxy that does not answer: a build that needs the network fails.
    const proxy = 'http://127.0.0.1:9';
    const env = { ...process.env, HTTP_PROXY: proxy, HTTPS_PROXY: proxy, NODE_USE_ENV_PROXY: '1' };
    await promisify(execFile)(process.execPath, ['site/build.ts'], { cwd: root, env });
  });

  test('it is built without a network, without dead links, and with a search', async () => {
    for (const file of ['index.html', 'gallery/mcp/federation/index.html', 'pagefind/pagefind.js'])
      assert.ok((await stat(join(dist, file))).size > 0, file);
  });

  const skip = browserPath === undefined ? 'chromium is not installed' : false;
  test('its search finds pages by the words of users, and a phone shows its pages', { skip }, async () => {
    await using server = await serve();
    const browser = await chromium.launch({ executablePath: browserPath ?? '', args: ['--no-sandbox'] });
    try {
      const page = await browser.newPage({ viewport: { width: 390, height: 800 } });
      const outside: string[] = [];
      page.on('request', (request) => {
        if (!request.url().startsWith(server.url) && !request.url().startsWith('data:'))
          outside.push(request.url());
      });
      for (const path of ['/', '/gallery/', '/reference/fields/policies/', '/how-to/okta/']) {
        await page.goto(`${server.url}${path}`);
        const overflow = await page.evaluate('document.documentElement.scrollWidth - innerWidth');
        assert.equal(overflow, 0, `${path} is wider than a phone`);
      }
      await page.goto(server.url);
      await page.getByRole('button', { name: 'Search' }).click();
      const dialog = page.getByRole('dialog');
      for (const [words, path] of searches) {
        await dialog.getByRole('textbox').fill(words);
        await dialog.getByText(new RegExp(`results? for ${words}$`)).waitFor();
        await dialog.locator(`a[href="${path}"]`).waitFor();
      }
      await dialog.locator('a[href="/errors/"]').click();
      await page.waitForURL(`${server.url}/errors/`);
      assert.deepEqual(outside, []);
    } finally {
      await browser.close();
    }
  });
});
