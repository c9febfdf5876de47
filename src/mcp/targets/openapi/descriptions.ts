import type { ApiSource } from '../../../model/index.ts';
import type { Logger } from '../../../telemetry/index.ts';
import { toolsOf, type ApiTools } from './apiTools.ts';
import { RemoteDescription, type DescriptionPace } from './remoteDescription.ts';

/** The tools of a source, for as long as a session uses them. */
export interface DescriptionUse {
  readonly tools: ApiTools | undefined;
  /** The reason why there are no tools, or no newer ones. */
  readonly problem: string | undefined;
  /** Resolves (never rejects) when there are tools, or a reason why there are none. */
  readonly ready: Promise<void>;
  release(): void;
}

/** Descriptions that no session uses are kept for the next one, up to so many. */
const maxIdle = 16;

/** The descriptions of one process: sessions with the same source share one. */
export class Descriptions {
  private readonly remote = new Map<string, RemoteDescription>();
  private readonly log: Logger;
  private readonly pace: DescriptionPace | undefined;

  constructor(log: Logger, pace?: DescriptionPace) {
    this.log = log;
    this.pace = pace;
  }

  /** @param changed hears of other tools */
  use(source: ApiSource, changed: () => void): DescriptionUse {
    if (source.kind === 'read')
      return {
        tools: toolsOf(source.api),
        problem: undefined,
        ready: Promise.resolve(),
        release: () => undefined,
      };
    const key = JSON.stringify([source.url, source.choice]);
    const found = this.remote.get(key) ?? new RemoteDescription(source, this.log, this.pace);
    // The newest stands last.
    this.remote.delete(key);
    this.remote.set(key, found);
    const release = found.use(changed);
    return {
      get tools() {
        return found.tools;
      },
      get problem() {
        return found.problem;
      },
      get ready() {
        return found.ready;
      },
      release: () => {
        release();
        this.trim();
      },
    };
  }

  close(): void {
    for (const one of this.remote.values()) one.close();
    this.remote.clear();
  }

  private trim(): void {
    const idle = [...this.remote].filter(([, one]) => !one.used);
    for (const [key, one] of idle.slice(0, Math.max(0, idle.length - maxIdle))) {
      this.remote.delete(key);
      one.close();
    }
  }
}
