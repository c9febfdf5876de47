/**
 * `npm run check`: everything that can be said about the source without running the gateway. Every step runs even
 * if an earlier one failed, so one run shows all there is to mend. Exit code 1 when a step failed.
 */
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

interface Step {
  readonly name: string;
  readonly command: readonly [string, ...string[]];
}

const root = fileURLToPath(new URL('..', import.meta.url));
const binary = (name: string): string =>
  fileURLToPath(new URL(`../node_modules/.bin/${name}`, import.meta.url));

const steps: readonly Step[] = [
  { name: 'format', command: [binary('prettier'), '--check', '--log-level', 'warn', '.'] },
  { name: 'lint', command: [binary('oxlint'), '--type-aware', '--deny-warnings'] },
  { name: 'types', command: [binary('tsc'), '-p', '.'] },
  { name: 'types of ui', command: [binary('tsc'), '-p', 'ui'] },
  {
    name: 'rooms',
    command: [
      process.execPath,
      '--test',
      '--test-reporter=dot',
      'test/rooms.test.ts',
      'test/subfolders.test.ts',
    ],
  },
  { name: 'generated files', command: [process.execPath, 'scripts/generate.ts', '--check'] },
  { name: 'plain English', command: [process.execPath, 'scripts/prose.ts'] },
  { name: 'unused code', command: [binary('knip')] },
];

/** Runs one step; resolves to its output, and whether it passed. */
const run = async (step: Step): Promise<{ passed: boolean; output: string }> =>
  await new Promise((resolve) => {
    const [command, ...args] = step.command;
    const child = spawn(command, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
    const chunks: Buffer[] = [];
    child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
    child.stderr.on('data', (chunk: Buffer) => chunks.push(chunk));
    child.on('error', (error) => resolve({ passed: false, output: error.message }));
    child.on('close', (code) => resolve({ passed: code === 0, output: Buffer.concat(chunks).toString() }));
  });

let failed = 0;
for (const step of steps) {
  const started = performance.now();
  const { passed, output } = await run(step);
  const seconds = ((performance.now() - started) / 1_000).toFixed(1);
  console.log(`${passed ? 'ok  ' : 'FAIL'} ${step.name.padEnd(16)} ${seconds.padStart(6)} s`);
  if (passed) continue;
  failed += 1;
  console.log(output.trimEnd().replaceAll(/^/gm, '     '));
}
if (failed > 0) console.log(`${String(failed)} of ${String(steps.length)} checks failed`);
process.exitCode = failed > 0 ? 1 : 0;
