import assert from 'node:assert/strict';
import test from 'node:test';
import { groupOf, groups } from '../bench/profile/groups.ts';
import { keptSections, soakRise, withKubernetes, withSoak } from '../bench/report/kept.ts';
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
