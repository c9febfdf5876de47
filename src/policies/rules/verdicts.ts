import type { ItemRefusal } from '../../mcp/contract.ts';

/**
 * Remembered answers of rules about items. The names come from clients, so the memory of all callers together is
 * bounded: a client may have any number of tokens.
 */

/** Bytes of all answers of the process. */
export const mostVerdictBytes = 16_777_216;
/** Names this long (with kind and target) are not kept. */
const longestName = 1024;
/** Bytes of an answer beside its name. */
const answerBytes = 100;
/** Bytes of a caller that has an answer at all. */
const callerBytes = 500;

/** Callers that have answers, the ones that began longest ago first. */
const kept = new Set<Verdicts>();
let all = 0;

/** Bytes that the answers of all callers take. */
export const verdictBytes = (): number => all;

/** The answer about one item. Rule sets share their refusals, so an answer takes no memory of its own for one. */
type Verdict = ItemRefusal | 'allowed';

/** The answers for one caller. */
export class Verdicts {
  private readonly answers = new Map<string, Verdict>();
  private bytes = 0;

  get(name: string): Verdict | undefined {
    return this.answers.get(name);
  }

  /** Keeps an answer that is not known yet. The callers who have had theirs for longest make room. */
  add(name: string, answer: Verdict): void {
    if (name.length > longestName) return;
    if (this.bytes === 0) {
      this.count(callerBytes);
      kept.add(this);
    }
    this.answers.set(name, answer);
    this.count(answerBytes + 2 * name.length);
    for (const oldest of kept) {
      if (all <= mostVerdictBytes) return;
      oldest.forget();
    }
  }

  private count(bytes: number): void {
    this.bytes += bytes;
    all += bytes;
  }

  private forget(): void {
    all -= this.bytes;
    this.bytes = 0;
    this.answers.clear();
    kept.delete(this);
  }
}
