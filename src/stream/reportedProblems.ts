import { isDeepStrictEqual } from 'node:util';
import type { Answer } from './proxyStream.ts';
import type { Flaws } from './wire.ts';

/** The parts of its Gateway's model that a proxy cannot serve. */
export interface ReportedProblem extends Flaws {
  readonly proxy: string;
  /** The reasons why it rejects the whole model; empty if it does not. */
  readonly refused: readonly string[];
}

interface Noted {
  readonly gateway: string;
  readonly trouble: ReportedProblem;
  /** Until it is forgotten, where its proxy has left. */
  timer?: NodeJS.Timeout;
}

export interface ReportedProblemsOptions {
  /** There is another answer to `ofGateways`. */
  readonly onChange: () => void;
  /** Milliseconds for a proxy that has left to come again: one in trouble leaves from time to time to try anew. */
  readonly keepMs?: number;
}

/** The last problems that proxies reported about their models. */
export class ReportedProblems {
  private readonly onChange: () => void;
  private readonly keepMs: number;
  private readonly noted = new Map<string, Noted>();

  constructor({ onChange, keepMs = 60_000 }: ReportedProblemsOptions) {
    this.onChange = onChange;
    this.keepMs = keepMs;
  }

  get ofGateways(): ReadonlyMap<string, readonly ReportedProblem[]> {
    const all = new Map<string, ReportedProblem[]>();
    for (const { gateway, trouble } of this.noted.values()) {
      const others = all.get(gateway);
      if (others === undefined) all.set(gateway, [trouble]);
      else others.push(trouble);
    }
    return all;
  }

  /** A proxy has answered. @returns whether it is in trouble */
  note(gateway: string, proxy: string, answer: Answer): boolean {
    const key = `${gateway} ${proxy}`;
    const before = this.noted.get(key);
    clearTimeout(before?.timer);
    const refused = answer.result === 'refused' ? answer.problems : [];
    const { broken, closed } = answer.result === 'taken' ? answer : { broken: [], closed: [] };
    const isTroubled = refused.length + broken.length + closed.length > 0;
    const trouble = { proxy, refused, broken, closed };
    if (isTroubled) this.noted.set(key, { gateway, trouble });
    else this.noted.delete(key);
    if (isTroubled ? !isDeepStrictEqual(before?.trouble, trouble) : before !== undefined) this.onChange();
    return isTroubled;
  }

  /** A proxy is gone, perhaps for a moment. */
  left(gateway: string, proxy: string): void {
    const key = `${gateway} ${proxy}`;
    const noted = this.noted.get(key);
    if (noted === undefined) return;
    clearTimeout(noted.timer);
    noted.timer = setTimeout(() => {
      this.noted.delete(key);
      this.onChange();
    }, this.keepMs).unref();
  }

  close(): void {
    for (const { timer } of this.noted.values()) clearTimeout(timer);
    this.noted.clear();
  }
}
