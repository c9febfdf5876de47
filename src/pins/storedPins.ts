import { hash } from 'node:crypto';
import type { Reply, Store } from '../store/index.ts';
import {
  approvalsScript,
  approveScript,
  bothScript,
  checkScript,
  idsScript,
  rejectScript,
  targetsScript,
} from './pinScripts.ts';
import {
  maxItems,
  type ChangedItem,
  type PinFile,
  type PinnedItem,
  type PinnedNames,
  type PinStore,
  type PinVerdict,
} from './pinStore.ts';

interface Known {
  readonly definition: string;
  /** The connection over which the store confirmed it, and the time, in milliseconds of a clock that does not jump. */
  readonly connection: number;
  readonly at: number;
  /** The approvals that were known then. */
  readonly approvals: string | undefined;
}

/**
 * For so long a confirmed definition counts without a question: an approval elsewhere is seen after it, or when
 * `approvals` is asked.
 */
const freshMs = 5_000;

const verdicts: readonly PinVerdict[] = ['same', 'new', 'changed', 'full'];
const digestLength = 64;

const digest = (text: string): string => hash('sha256', text);
const nameOf = (values: readonly string[]): string => digest(JSON.stringify(values)).slice(0, 32);
const targetsKey = 'pins:targets';
const approvalsKey = 'pins:approvals';
const pinnedKey = (target: string): string => `pins:${target}:pinned`;
const changedKey = (target: string): string => `pins:${target}:changed`;

const textOf = ({ backend, target, kind, name }: PinnedItem, definition: string): string => {
  const file: PinFile = { backend, target, kind, name, definition, seenAt: new Date().toISOString() };
  return JSON.stringify(file);
};

/** The remembered definitions in a store that replicas share. */
export class StoredPins implements PinStore {
  private readonly store: Store;
  private readonly now: () => number;
  /** Definitions that are the remembered ones, by target and item. */
  private readonly known = new Map<string, Known>();
  /** The newest mark of the approvals; undefined before the first one. */
  private mark: string | undefined;

  /** @param now milliseconds of a clock that does not jump */
  constructor(store: Store, now: () => number = () => performance.now()) {
    this.store = store;
    this.now = now;
  }

  /** While the store cannot be asked, a definition that it has confirmed before is still the same. */
  async check(item: PinnedItem, definition: string): Promise<PinVerdict> {
    const { connection } = this.store;
    const approvals = this.mark;
    const [target, id] = placeOf(item);
    const key = `${target}:${id}`;
    const known = this.known.get(key);
    const isKnown = known?.definition === definition;
    const isFresh =
      known?.connection === connection && known.approvals === approvals && this.now() - known.at < freshMs;
    if (isKnown && (isFresh || connection === 0)) return 'same';
    const remembered =
      known === undefined ? ['', ''] : [digest(known.definition), textOf(item, known.definition)];
    const reply = await this.store.run(
      checkScript,
      [pinnedKey(target), changedKey(target), targetsKey],
      [id, digest(definition), textOf(item, definition), ...remembered, target, maxItems],
    );
    const verdict = verdicts.find((one) => one === reply);
    if (verdict === undefined) throw new Error('the store answered something else');
    if (verdict === 'same' || verdict === 'new')
      this.known.set(key, { definition, connection, at: this.now(), approvals });
    else if (isKnown) this.known.delete(key);
    return verdict;
  }

  async names({ backend, target }: Pick<PinnedItem, 'backend' | 'target'>): Promise<PinnedNames> {
    const key = pinnedKey(nameOf([backend, target]));
    const ids = new Set(textsIn(await this.store.run(idsScript, [key], [])));
    return { has: (kind, name) => ids.has(nameOf([kind, name])) };
  }

  async *changed(): AsyncIterable<ChangedItem> {
    for (const target of textsIn(await this.store.run(targetsScript, [targetsKey], [])))
      for (const id of textsIn(await this.store.run(idsScript, [changedKey(target)], []))) {
        const both = await this.store.run(bothScript, [pinnedKey(target), changedKey(target)], [id]);
        const [pinned, changed] = textsIn(both).map(fileOf);
        if (pinned === undefined || changed === undefined) continue;
        const { backend, target: named, kind, name, seenAt } = changed;
        yield {
          backend,
          target: named,
          kind,
          name,
          seenAt,
          pinned: pinned.definition,
          found: changed.definition,
        };
      }
  }

  async approve(item: ChangedItem): Promise<void> {
    const [target, id] = placeOf(item);
    const args = [id, digest(item.found), textOf(item, item.found)];
    await this.store.run(approveScript, [pinnedKey(target), changedKey(target), approvalsKey], args);
  }

  async approvals(): Promise<string> {
    const reply = await this.store.run(approvalsScript, [approvalsKey], []);
    this.mark = typeof reply === 'string' ? reply : '';
    return this.mark;
  }

  async reject(item: PinnedItem): Promise<void> {
    const [target, id] = placeOf(item);
    await this.store.run(rejectScript, [changedKey(target)], [id]);
  }
}

const placeOf = ({ backend, target, kind, name }: PinnedItem): readonly [target: string, id: string] => [
  nameOf([backend, target]),
  nameOf([kind, name]),
];

const textsIn = (reply: Reply): readonly string[] =>
  Array.isArray(reply) ? (reply as readonly Reply[]).filter((one) => typeof one === 'string') : [];

/** @throws Error for a text that is none of ours */
function fileOf(text: string): PinFile {
  try {
    return JSON.parse(text.slice(digestLength)) as PinFile;
  } catch (error) {
    throw new Error('the store holds no pinned definition there', { cause: error });
  }
}
