import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { TestPlane, type ModelInShort } from '../dataPlane.testing.ts';
import type { RelayPeer } from '../connections/relayLines.ts';

export const secret = 'ab'.repeat(32);

/**
 * Two workers in one process: `here`, where clients come in, and `there`. The id of a session begins with the name of
 * the one that holds it; others can go on with one that is of `gone`.
 */
export class TwoWorkers {
  readonly here: TestPlane;
  readonly there: TestPlane;
  readonly peers: readonly RelayPeer[];

  private constructor(folder: string) {
    this.peers = ['here', 'there'].map((owner, index) => ({
      worker: index + 1,
      owner,
      path: join(folder, `${owner}.sock`),
    }));
    const [here, there] = this.peers.map(({ owner, path }) => {
      const ownerElsewhere = (session: string): string | undefined => {
        const [other = ''] = session.split(':');
        return other === owner ? undefined : other;
      };
      const isMovable = (session: string): boolean => session.startsWith('gone:');
      return new TestPlane(undefined, undefined, { relay: { secret, path }, ownerElsewhere, isMovable });
    });
    this.here = here as TestPlane;
    this.there = there as TestPlane;
  }

  /** @param models of the two, which tell apart who serves */
  static async start(t: TestContext, models: readonly [ModelInShort, ModelInShort]): Promise<TwoWorkers> {
    const folder = mkdtempSync(join(tmpdir(), 'relay-'));
    const two = new TwoWorkers(folder);
    t.after(() => {
      two.here.close();
      two.there.close();
      rmSync(folder, { recursive: true });
    });
    for (const [index, plane] of [two.here, two.there].entries()) {
      await plane.plane.relays?.listen();
      plane.plane.relays?.usePeers(two.peers);
      await plane.apply(models[index] as ModelInShort);
    }
    return two;
  }
}
