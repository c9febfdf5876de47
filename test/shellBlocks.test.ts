/** Every block of shell commands in the documents runs in a test, or says why none runs it. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { commonFlags, everyCommand } from '../src/cli/index.ts';
import { blocksIn, covered, pagesWithBlocks, type Block } from './support/blocks.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const read = (file: string): string => readFileSync(`${root}${file}`, 'utf8');

/** Pages whose blocks a test runs as they are. The test names the page. */
const run: Readonly<Record<string, string>> = {
  'README.md': 'test/e2e/shellBlocks.test.ts',
  'docs/admin-api.md': 'test/e2e/shellBlocks.test.ts',
  'docs/console.md': 'test/e2e/shellBlocks.test.ts',
  'docs/guides/mcp.md': 'test/kubernetes/mcp.guide.ts',
  'docs/guides/sample-app.md': 'test/kubernetes/sampleApp.guide.ts',
  'docs/observability.md': 'test/e2e/shellBlocks.test.ts',
  'docs/protocol-versions.md': 'test/e2e/shellBlocks.test.ts',
  'docs/quickstart.md': 'test/e2e/shellBlocks.test.ts',
  'docs/start.md': 'test/e2e/shellBlocks.test.ts',
  'docs/why.md': 'test/e2e/shellBlocks.test.ts',
};

const isShell = ({ language }: Block): boolean => language === 'sh' || language === 'console';
const commandLines = (text: string): readonly string[] =>
  text
    .replaceAll('\\\n', ' ')
    .split('\n')
    .map((line) => line.replace(/^\$ /, '').trim())
    .filter((line) => line !== '' && !line.startsWith('#'));

/** Scripts of package.json, which exist (test/documents.test.ts). CI and the maintainers run them. */
const isScripts = ({ text }: Block): boolean =>
  commandLines(text).every((line) => /^npm (?:ci(?: &&|$)|run |test)/.test(line));

const blocks = pagesWithBlocks().flatMap((page) => blocksIn(page));

test('every block of shell commands runs in a test, or its first line says why not', () => {
  const shell = blocks.filter(isShell);
  assert.ok(shell.length > 50);
  const loose = shell
    .filter((block) => block.unchecked === undefined && !isScripts(block))
    .filter(({ page }) => !(page in run) && !(page in covered))
    .map(({ page, line }) => `${page}:${String(line)}`);
  assert.deepEqual(loose, []);
});

test('the tests that run the blocks of a page name the page or its commands', () => {
  for (const [page, file] of Object.entries(run)) assert.ok(read(file).includes(page), `${file}: ${page}`);
  for (const [page, [file, ...texts]] of Object.entries(covered))
    for (const text of texts) assert.ok(read(file).includes(text), `${page}: ${file} has no ${text}`);
});

test('no shell command hides in a block of another language', () => {
  const hidden = blocks
    .filter(
      ({ language, text }) =>
        language === '' && /^(?:npm|npx|portcullis|kubectl|docker|curl|export|kill) /m.test(text),
    )
    .map(({ page, line }) => `${page}:${String(line)}`);
  assert.deepEqual(hidden, []);
});

test('the commands and flags of portcullis in the blocks exist', async () => {
  const commands = await everyCommand();
  const unknown = blocks.flatMap(({ page, line, language, text }) =>
    !['sh', 'console', 'text'].includes(language)
      ? []
      : commandLines(text)
          .filter((each) => /^(?:npx )?portcullis(?: |$)/.test(each))
          .flatMap((each) => {
            const [, ...words] = each
              .replace(/^npx /, '')
              .replace(/\s#.*$/, '')
              .replaceAll(/'[^']*'|"[^"]*"/g, 'x')
              .split(/\s+/);
            const [first = ''] = words;
            const name = first.startsWith('-') ? 'run' : first;
            const command = commands[name];
            if (command === undefined) return [`${page}:${String(line)}: ${name}`];
            if (command.passThrough === true) return [];
            const flags = { ...command.flags, ...commonFlags };
            return words
              .map((word) => /^\[?--([a-z-]+)/.exec(word)?.[1])
              .filter((flag) => flag !== undefined && !(flag in flags))
              .map((flag) => `${page}:${String(line)}: ${name} --${flag ?? ''}`);
          }),
  );
  assert.deepEqual(unknown, []);
});
