import assert from 'node:assert/strict';
import test from 'node:test';
import { groupOf, groups } from '../bench/profile/groups.ts';
import { candidates } from '../bench/mcp/candidates.ts';
import type { McpSample } from '../bench/mcp/measure.ts';
import type { McpCell } from '../bench/mcp/run.ts';
import { keptSections, soakRise, withKubernetes, withMcp, withSoak } from '../bench/report/kept.ts';
import { mcpLines } from '../bench/report/mcp.ts';
import { floors, growth, type Point } from '../bench/soak/slope.ts';

test('memory that rises is told from memory that swings', () => {
  const minutes = Array.from({ length: 120 }, (_, index) => index / 12);
  const swinging = minutes.map((minute): Point => [minute, 200 + 80 * Math.abs(Math.sin(minute * 31))]);
  assert.ok(Math.abs(growth(floors(swinging, 10))) < 0.05);
  const leaking = swinging.map(([minute, value]): Point => [minute, value + minute * 5]);
  assert.ok(growth(floors(leaking, 10)) > 0.15);
});

test('a half minute that had only begun at the end is not looked at', () => {
  const flat = Array.from({ length: 40 }, (_, index): Point => [index / 4, 100]);
  const end: Point = [10.01, 150];
  assert.deepEqual(floors([...flat, end], 10), floors(flat, 10));
  assert.equal(floors(flat, 10).length, 20);
});

test('a rise cannot be told from two points', () => {
  assert.ok(
    Number.isNaN(
      growth([
        [0, 1],
        [1, 1],
      ]),
    ),
  );
});

test('a later run keeps the sections of the soak and of the cluster, and a later soak replaces its own', () => {
  const results = '# Benchmark results\n\n## Targets\n\ntable\n';
  const row = (rise: string) => `| resident memory, MB | 1 | 2 | 3 | 4 | 5 | ${rise} % |`;
  const first = withSoak(results, [row('1.5')]);
  assert.deepEqual(keptSections(first), [`## Soak\n\n${row('1.5')}`, '']);
  assert.equal(soakRise(first), 1.5);
  const second = withSoak(`${first}\n## After\n\nkept\n`, [row('-2.0')]);
  assert.equal(soakRise(second), -2);
  assert.equal(second.match(/## Soak/g)?.length, 1);
  assert.match(second, /## After\n\nkept/);
  assert.deepEqual(keptSections(results), []);
  const third = withKubernetes(withKubernetes(second, ['old']), ['new']);
  assert.equal(soakRise(third), -2);
  assert.deepEqual(keptSections(third), [`## Soak\n\n${row('-2.0')}`, '', '## Kubernetes\n\nnew', '']);
  assert.ok(Number.isNaN(soakRise(results)));
});

test('a profile tells whose time a sample is', () => {
  const group = (...place: [string, string, string]) => groupOf(...place).group;
  assert.equal(group('node-MainThread', 'tcp_ack', '[kernel.kallsyms]'), groups.kernel);
  assert.equal(group('node-MainThread', 'clock_gettime', '[vdso]'), groups.native);
  const ours = groupOf(
    'node-MainThread',
    'JS:*parse file:///home/gateway/src/http/parse.ts:1:2',
    'perf-1.map',
  );
  assert.deepEqual(ours, { group: groups.ours, label: 'parse  src/http/parse.ts:1:2' });
  assert.equal(group('node-MainThread', 'JS:~write node:net:1:2', 'perf-1.map'), groups.node);
  assert.equal(
    group('node-MainThread', 'JS:^run file:///home/gateway/node_modules/zod/v4/doc.js:1:2', 'perf-1.map'),
    groups.library,
  );
  assert.equal(group('node-MainThread', 'Builtins_LoadIC', '/bin/node'), groups.builtins);
  assert.equal(group('node-V8Worker', 'v8::internal::ConcurrentMarking::RunMajor', '/bin/node'), groups.gc);
  assert.equal(
    group('node-V8Worker', 'v8::internal::compiler::GraphReducer::Reduce', '/bin/node'),
    groups.compiler,
  );
});

const row = (name: string, cpu: number): McpCell => {
  const candidate = candidates.find((one) => one.name === name);
  assert.ok(candidate, name);
  const sample: McpSample = {
    callsPerSecond: 1,
    gatewayCpuPerCall: cpu,
    serverCpuPerCall: 1,
    p50: 1,
    p99: 1,
    residentMegabytes: 1,
  };
  return { candidate, samples: [sample] };
};

test('every row of MCP stands in one table, and each target has its rows', () => {
  const lines = mcpLines({ mcp: candidates.map(({ name }) => row(name, 10)), sessions: [] }, ['- Date: x']);
  for (const { title, sessions } of candidates)
    assert.equal(lines.filter((line) => line.startsWith(`| ${title} | ${sessions} |`)).length, 1, title);
  const verdicts = lines.filter((line) => /\| (?:met|missed) \|$/.test(line));
  assert.equal(verdicts.length, 12);
  assert.ok(!lines.some((line) => line.includes('NaN')));
});

test('the verdict on an MCP target compares the cost of a call with that of its peer', () => {
  const about = ['- Date: x'];
  const verdictOf = (cpu: number): string | undefined =>
    mcpLines({ mcp: [row('portcullis', cpu), row('supergateway', 100)], sessions: [] }, about).find((line) =>
      line.includes('/ supergateway as it comes'),
    );
  assert.match(verdictOf(15) ?? '', /\| 0\.15 \| 0\.15 \| met \|/);
  assert.match(verdictOf(16) ?? '', /\| 0\.16 \| missed \|/);
});

test('a run of MCP alone replaces its section and keeps the rest', () => {
  const before = withSoak(withMcp('# Benchmark results\n', ['old']), ['soak']);
  const after = withMcp(before, ['new']);
  assert.ok(!after.includes('old'));
  assert.deepEqual(keptSections(after), ['## MCP\n\nnew', '', '## Soak\n\nsoak', '']);
});
