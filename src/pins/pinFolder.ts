import { createHash, randomUUID } from 'node:crypto';
import { link, mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  maxItems,
  type ChangedItem,
  type PinFile,
  type PinnedItem,
  type PinnedNames,
  type PinStore,
  type PinVerdict,
} from './pinStore.ts';

const pinSuffix = '.json';
const changeSuffix = '.changed.json';
/** A file in the folder that each approval replaces. */
const approvalsFile = 'approvals';

/** Names of the folders of targets, as `digest` makes them. */
const groupName = /^[0-9a-f]{32}$/;

interface KnownPin {
  readonly definition: string;
  /** The version of the file that had the definition. */
  readonly version: string | undefined;
}

const digest = (value: readonly string[]): string =>
  createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, 32);

const isMissing = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === 'ENOENT';

/**
 * The remembered definitions: a file for each item, in a folder for each target. Several processes may share the folder:
 * the first one to create a file decides.
 */
export class PinFolder implements PinStore {
  private readonly folder: string;
  /** Definitions that were found to be the remembered ones, by the path of their file. */
  private readonly known = new Map<string, KnownPin>();
  /** Items in the folder of a target. */
  private readonly counts = new Map<string, number>();

  constructor(folder: string) {
    this.folder = folder;
  }

  /**
   * Compares a definition with the remembered one; the first one is remembered.
   * @param definition as `definitionOf` writes it
   * @throws NodeJS.ErrnoException where the folder cannot be read or written
   */
  async check(item: PinnedItem, definition: string): Promise<PinVerdict> {
    const path = this.pathOf(item);
    // Before the file is read: a file that is replaced meanwhile is read again the next time.
    let version = await versionOf(path + pinSuffix);
    const known = this.known.get(path);
    if (known?.definition === definition && known.version === version) return 'same';
    let pinned = await readPin(path + pinSuffix);
    if (pinned === undefined) {
      const group = this.groupOf(item);
      if ((await this.countOf(group)) >= maxItems) return 'full';
      if (await this.create(path + pinSuffix, item, definition)) {
        this.counts.set(group, (this.counts.get(group) ?? 0) + 1);
        return 'new';
      }
      // Another process was faster.
      version = await versionOf(path + pinSuffix);
      pinned = await readPin(path + pinSuffix);
    }
    if (pinned?.definition === definition) {
      this.known.set(path, { definition, version });
      return 'same';
    }
    const change = await readPin(path + changeSuffix);
    if (change?.definition !== definition) await replace(path + changeSuffix, fileText(item, definition));
    return 'changed';
  }

  /** @throws NodeJS.ErrnoException where the folder cannot be read */
  async names(target: Pick<PinnedItem, 'backend' | 'target'>): Promise<PinnedNames> {
    const files = new Set(await namesIn(this.groupOf(target)));
    return { has: (kind, name) => files.has(digest([kind, name]) + pinSuffix) };
  }

  /**
   * The items whose definition has changed.
   * @throws NodeJS.ErrnoException where the folder cannot be read
   */
  async *changed(): AsyncIterable<ChangedItem> {
    for (const group of (await namesIn(this.folder)).filter((name) => groupName.test(name)))
      for (const file of await namesIn(join(this.folder, group))) {
        if (!file.endsWith(changeSuffix)) continue;
        const path = join(this.folder, group, file.slice(0, -changeSuffix.length));
        const [pin, change] = [await readPin(path + pinSuffix), await readPin(path + changeSuffix)];
        if (pin === undefined || change === undefined) continue;
        const { backend, target, kind, name, seenAt } = change;
        yield { backend, target, kind, name, seenAt, pinned: pin.definition, found: change.definition };
      }
  }

  /**
   * Remembers the new definition in place of the old one: the one that was shown, for the server may have changed it
   * again since.
   * @throws NodeJS.ErrnoException where the folder cannot be written
   */
  async approve(item: ChangedItem): Promise<void> {
    const path = this.pathOf(item);
    await replace(path + pinSuffix, fileText(item, item.found));
    const change = await readPin(path + changeSuffix);
    if (change?.definition === item.found) await this.reject(item);
    await replace(join(this.folder, approvalsFile), `${new Date().toISOString()}\n`);
  }

  async approvals(): Promise<string> {
    return (await versionOf(join(this.folder, approvalsFile))) ?? '';
  }

  /**
   * Forgets the new definition; it is noted again should the server still have it.
   * @throws NodeJS.ErrnoException where the folder cannot be written
   */
  async reject(item: PinnedItem): Promise<void> {
    await rm(this.pathOf(item) + changeSuffix, { force: true });
  }

  private groupOf({ backend, target }: Pick<PinnedItem, 'backend' | 'target'>): string {
    return join(this.folder, digest([backend, target]));
  }

  private pathOf(item: PinnedItem): string {
    return join(this.groupOf(item), digest([item.kind, item.name]));
  }

  private async countOf(group: string): Promise<number> {
    let count = this.counts.get(group);
    if (count === undefined) {
      const files = await namesIn(group);
      count = files.filter((file) => file.endsWith(pinSuffix) && !file.endsWith(changeSuffix)).length;
      this.counts.set(group, count);
    }
    return count;
  }

  /** @returns false where the file is there already */
  private async create(path: string, item: PinnedItem, definition: string): Promise<boolean> {
    await mkdir(this.groupOf(item), { recursive: true, mode: 0o700 });
    const temporary = await writeTemporary(path, fileText(item, definition));
    try {
      // A link is made at once and never replaces a file.
      await link(temporary, path);
      return true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
      throw error;
    } finally {
      await rm(temporary, { force: true });
    }
  }
}

/** The version of a file: an approval puts another file in its place. Undefined where there is no file. */
async function versionOf(path: string): Promise<string | undefined> {
  try {
    const { ino, mtimeNs, size } = await stat(path, { bigint: true });
    return `${ino} ${mtimeNs} ${size}`;
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

const fileText = ({ backend, target, kind, name }: PinnedItem, definition: string): string =>
  `${JSON.stringify({ backend, target, kind, name, definition, seenAt: new Date().toISOString() }, null, 2)}\n`;

/** Undefined where there is no such file. */
async function readPin(path: string): Promise<PinFile | undefined> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
  try {
    return JSON.parse(text) as PinFile;
  } catch {
    throw new Error(`${path} is no file of a pinned definition`);
  }
}

/** Writes a file at once, so that no reader sees half of it. */
async function replace(path: string, text: string): Promise<void> {
  await rename(await writeTemporary(path, text), path);
}

async function writeTemporary(path: string, text: string): Promise<string> {
  const temporary = `${path}.${randomUUID()}.tmp`;
  await writeFile(temporary, text, { flag: 'wx', mode: 0o600 });
  return temporary;
}

async function namesIn(folder: string): Promise<readonly string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}
