import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { compare, withoutPages } from './compare.ts';
import { bridgedPart } from './modernCourse.ts';
import { modernRevision, revisions, type AnyRevision } from './course.ts';
import { exceptions, type Exception, type Family } from './exceptions.ts';
import { places, Runs } from './runs.ts';
import type { Subject } from './subject.ts';
import type { Transcript } from './transcript.ts';

const same = (seen: Transcript): Transcript => seen;

/** The places in which subjects are compared. */
const placed = Object.keys(places);

/** Compares each subject directly and through the gateway, in each revision and place. */
export function testSubjects(
  family: Family,
  subjects: readonly Subject[],
  skip: string | false = false,
): void {
  const used = new Set<Exception>();
  for (const subject of subjects)
    // Many programs that start slowly, all at once, take longer than the gateway waits for the era of one.
    describe(
      subject.name,
      { skip, concurrency: subject.startsSlowly === true ? placed.length : true },
      () => {
        const runs = new Runs(subject);
        const spoken: readonly AnyRevision[] =
          subject.modern === undefined ? revisions : [...revisions, modernRevision];
        const direct = new Map<string, Promise<Transcript>>();
        before(() => runs.start(spoken, placed));
        after(() => runs[Symbol.asyncDispose]());

        for (const revision of spoken)
          for (const place of placed)
            test(`behaves the same ${place} behind the gateway, in revision ${revision}`, async () => {
              const left = direct.get(revision) ?? runs.direct(revision);
              direct.set(revision, left);
              const [one, two] = await Promise.all([left, runs.through(place, revision)]);
              const list = exceptions[family].filter(
                (each) =>
                  subject.name.startsWith(each.subject ?? '') &&
                  (each.place ?? place) === place &&
                  (each.revision ?? revision) === revision,
              );
              const shared = subject.modern === 'bridged' && revision === modernRevision ? bridgedPart : same;
              const whole = (seen: Transcript) => (place === 'federated' ? withoutPages : same)(shared(seen));
              const { differences, used: some } = compare(whole(one), whole(two), list);
              for (const each of some) used.add(each);
              assert.deepEqual(differences, []);
            });
      },
    );
  test('needs every exception', { skip }, () => {
    const stale = exceptions[family].filter((each) => !used.has(each)).map(({ reason }) => reason);
    assert.deepEqual(stale, []);
  });
}
