import { shownUrl } from '../../../files/index.ts';
import type { ApiSource } from '../../../model/index.ts';
import type { Counter, Logger, Metrics, Sample } from '../../../telemetry/index.ts';
import { toolsOf, type ApiTools } from './apiTools.ts';
import { RemoteDescription, type DescriptionPace, type UrlSource } from './remoteDescription.ts';

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

/** The tools of a URL, as they are at the time of the question. */
class RemoteUse implements DescriptionUse {
  private readonly description: RemoteDescription;
  readonly release: () => void;

  constructor(description: RemoteDescription, release: () => void) {
    this.description = description;
    this.release = release;
  }

  get tools(): ApiTools | undefined {
    return this.description.tools;
  }

  get problem(): string | undefined {
    return this.description.problem;
  }

  get ready(): Promise<void> {
    return this.description.ready;
  }
}

/** The descriptions of one process: sessions with the same source share one. */
export class Descriptions {
  private readonly remote = new Map<string, RemoteDescription>();
  private readonly log: Logger;
  private readonly pace: DescriptionPace | undefined;
  private readonly fetches: Counter;

  constructor(log: Logger, metrics: Metrics, pace?: DescriptionPace) {
    this.log = log;
    this.pace = pace;
    const help = 'Reads of an API description at a URL.';
    this.fetches = metrics.counter('openapi_fetches_total', help, ['source', 'result']);
    const tools = 'Tools of an API description at a URL.';
    // A worker without tools shows, whatever the others have.
    metrics.collect('openapi_tools', tools, 'gauge', ['source'], () => this.samples(), 'min');
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
    const key = JSON.stringify([source.url, source.choice, source.references]);
    const found = this.remote.get(key) ?? this.open(source);
    // The newest stands last.
    this.remote.delete(key);
    this.remote.set(key, found);
    const release = found.use(changed);
    return new RemoteUse(found, () => {
      release();
      this.trim();
    });
  }

  close(): void {
    for (const one of this.remote.values()) one.close();
    this.remote.clear();
  }

  private open(source: UrlSource): RemoteDescription {
    const name = shownUrl(source.url);
    const onFetch = (result: 'ok' | 'failed'): void => this.fetches.add({ source: name, result });
    return new RemoteDescription(source, { log: this.log, onFetch, ...(this.pace && { pace: this.pace }) });
  }

  private *samples(): Iterable<Sample> {
    const tools = new Map<string, number>();
    // Sources with other choices have the same name, and a name has one sample.
    for (const one of this.remote.values())
      if (one.used) {
        const value = one.tools?.operations.size ?? 0;
        const name = shownUrl(one.source.url);
        tools.set(name, Math.min(value, tools.get(name) ?? value));
      }
    for (const [source, value] of tools) yield { labels: { source }, value };
  }

  private trim(): void {
    const idle = [...this.remote].filter(([, one]) => !one.used);
    for (const [key, one] of idle.slice(0, Math.max(0, idle.length - maxIdle))) {
      this.remote.delete(key);
      one.close();
    }
  }
}
