/** Guards against servers that change the definition of a tool after it was approved. */

import { createHash } from 'node:crypto';
import { messageOf } from '../../errorText.ts';
import { memberOf, wholeOf } from '../json/envelope.ts';
import { hasRepeatedMembers } from '../json/repeatedMembers.ts';
import {
  comparedMembers,
  definitionOf,
  type PinKind,
  type PinnedNames,
  type PinStore,
} from '../../pins/index.ts';
import type { Logger } from '../../telemetry/index.ts';

/** The items of one target. */
export interface PinScope {
  readonly backend: string;
  readonly target: string;
  /** `enforce`: a changed item is withheld. `warn`: it is only told of. */
  readonly mode: 'enforce' | 'warn';
}

/** Changed items that are remembered, so that each change is logged once. */
const maxReported = 10_000;

/** Has the item a member twice, or one that differs from a compared member in case only? Some clients read it as that one. */
function isUnclear(kind: PinKind, text: string): boolean {
  const whole = wholeOf(text);
  return (
    hasRepeatedMembers(text) ||
    comparedMembers(kind).some((name) => memberOf(text, whole, name) === 'ambiguous')
  );
}

/** Compares definitions with their pins, for all sessions of a process. */
export class PinGuard {
  private readonly pins: PinStore;
  private readonly log: Logger;
  private readonly onChanged: (target: string) => void;
  private readonly reported = new Set<string>();
  /** The approvals that the compared definitions may rest on; undefined while the pins cannot be read. */
  private approvals: string | undefined;
  private underWay: Promise<void> | undefined;
  private begun: Promise<void> | undefined;

  /** @param onChanged hears of each change once */
  constructor(pins: PinStore, log: Logger, onChanged: (target: string) => void) {
    this.pins = pins;
    this.log = log;
    this.onChanged = onChanged;
  }

  /**
   * May clients see and use the item? Where the pins cannot be read, `enforce` withholds it.
   * @param text the item as its server wrote it
   */
  async allows(
    { backend, target, mode }: PinScope,
    kind: PinKind,
    name: string,
    text: string,
  ): Promise<boolean> {
    const fields = { backend, target, kind, name: name.slice(0, 200) };
    try {
      // Read before the first definition, so that a later approval is seen to be one.
      if (this.approvals === undefined) await (this.begun ??= this.look());
      // Clients read different definitions, so the whole text counts.
      const definition = isUnclear(kind, text) ? JSON.stringify({ text }) : definitionOf(kind, text);
      const verdict = await this.pins.check({ backend, target, kind, name }, definition);
      if (verdict === 'same' || verdict === 'new') return true;
      if (this.report(JSON.stringify([fields, definition]))) {
        const message =
          verdict === 'full' ? 'Definition not pinned: the target has too many items' : 'Definition changed';
        this.log.warn(message, { ...fields, pin: mode, approve: 'portcullis pins' });
        this.onChanged(target);
      }
    } catch (error) {
      const reason = messageOf(error);
      if (this.report(JSON.stringify([fields, reason])))
        this.log.error('Definition could not be compared with its pin', { ...fields, reason });
    }
    return mode === 'warn';
  }

  /** The pinned names of a target; undefined where they cannot be read. */
  async names(backend: string, target: string): Promise<PinnedNames | undefined> {
    try {
      return await this.pins.names({ backend, target });
    } catch (error) {
      const reason = messageOf(error);
      if (this.report(JSON.stringify([backend, target, reason])))
        this.log.error('Pinned names could not be read', { backend, target, reason });
      return undefined;
    }
  }

  /**
   * Have pins been approved since the last question, or can they be read again? Definitions that were withheld may be
   * allowed then. Never rejects.
   */
  async hasNews(): Promise<boolean> {
    // A folder on a hung file system is asked once.
    if (this.underWay !== undefined) return false;
    const before = this.approvals;
    this.underWay = this.look().finally(() => (this.underWay = undefined));
    await this.underWay;
    return this.approvals !== undefined && this.approvals !== before;
  }

  private async look(): Promise<void> {
    try {
      this.approvals = await this.pins.approvals();
    } catch {
      // The comparison of the next definition fails, too, and says why.
      this.approvals = undefined;
    }
  }

  private report(said: string): boolean {
    // A definition may be long.
    const key = createHash('sha256').update(said).digest('base64');
    if (this.reported.has(key)) return false;
    if (this.reported.size >= maxReported) this.reported.clear();
    this.reported.add(key);
    return true;
  }
}
