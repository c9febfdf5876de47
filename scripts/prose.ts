/**
 * Checks that the English stays plain (part of `npm run check`). It measures the share of comments and test names that
 * begin with a headless clause, of log messages that do not begin with the event, and of sentences in the documents with
 * more than 30 words. Each share has a limit in `proseLimits.json`, which may only shrink. `--list` names the offenders;
 * `--list PATH` only those of a path.
 */
import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import {
  commentsOf,
  isHeadless,
  isWithoutEvent,
  logMessagesOf,
  longestSentence,
  sentencesOf,
  testNamesOf,
  wordsIn,
} from './proseCount.ts';
import type { Passage } from './proseCount.ts';

interface Kind {
  readonly files: readonly string[];
  readonly passages: (text: string) => Passage[];
  /** The weight of a passage; 0 when it is plain. */
  readonly weight: (text: string) => number;
}

const root = fileURLToPath(new URL('..', import.meta.url));
const excess = (text: string): number => Math.max(0, wordsIn(text) - longestSentence);
const comments = { passages: commentsOf, weight: (text: string) => Number(isHeadless(text)) };
const sentences = { passages: sentencesOf, weight: excess };

const kinds: Readonly<Record<string, Kind>> = {
  'headless comments in src and apps': {
    ...comments,
    files: ['src/**/*.ts', 'apps/*/src/**/*.ts', 'ui/**/*.{ts,tsx}'],
  },
  'headless comments elsewhere': {
    ...comments,
    files: ['scripts/**/*.ts', 'test/**/*.ts', 'bench/**/*.ts'],
  },
  'headless test names': {
    passages: testNamesOf,
    weight: (text) => Number(isHeadless(text)),
    files: ['{src,apps,test,ui}/**/*.{test,cluster,node,guide}.ts'],
  },
  'log messages that do not begin with the event': {
    passages: logMessagesOf,
    weight: (text) => Number(isWithoutEvent(text)),
    files: ['src/**/!(*.test|*.testing).ts'],
  },
  'long sentences in documents': {
    ...sentences,
    files: ['{README,ARCHITECTURE,SECURITY,CONTRIBUTING,CHANGELOG}.md', 'docs/**/*.md'],
  },
};

const limits = JSON.parse(readFileSync(new URL('proseLimits.json', import.meta.url), 'utf8')) as Record<
  string,
  number
>;
const [flag, path = ''] = process.argv.slice(2);

for (const [name, { files, passages, weight }] of Object.entries(kinds)) {
  const found = globSync([...files], { cwd: root })
    .filter((file) => !file.includes('node_modules'))
    .sort()
    .flatMap((file) =>
      passages(readFileSync(`${root}${file}`, 'utf8')).map((passage) => ({
        file,
        ...passage,
        weight: weight(passage.text),
      })),
    );
  const offenders = found.filter((passage) => passage.weight > 0);
  const share = (100 * offenders.length) / Math.max(1, found.length);
  const limit = limits[name] ?? 0;
  console.log(
    `${name}: ${String(offenders.length)} of ${String(found.length)}, ${share.toFixed(2)} % (limit ${String(limit)} %)`,
  );
  if (share > limit) process.exitCode = 1;
  if (flag !== '--list') continue;
  const listed = offenders.filter(({ file }) => file.startsWith(path));
  for (const { file, line, text } of listed.sort((a, b) => b.weight - a.weight))
    console.log(`  ${file}:${String(line)} ${text}`);
}
if (process.exitCode === 1)
  console.log('A share is above its limit. `node scripts/prose.ts --list` names the passages to rewrite.');
