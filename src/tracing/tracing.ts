import type { TracingSettings } from '../model/index.ts';
import type { Logger, Metrics } from '../telemetry/index.ts';
import type { OpenSpan, SpanGroup, Spans, SpanStart } from './contract.ts';
import type { Exporting } from './sdk.ts';

/** The spans of a process and their export. The libraries of OpenTelemetry load only when one is made. */
export class Tracing implements Spans {
  /** Resolves when spans can begin. Rejects where the libraries cannot be loaded. */
  readonly ready: Promise<void>;
  private exporting: Exporting | undefined;

  constructor(settings: TracingSettings, tools: { readonly log: Logger; readonly metrics: Metrics }) {
    this.ready = import('./sdk.ts').then(async ({ startExporting }) => {
      this.exporting = await startExporting(settings, tools);
    });
    this.ready.catch(() => undefined);
  }

  begin(start: SpanStart): OpenSpan {
    if (this.exporting === undefined) throw new Error('spans begin only when tracing is ready');
    return this.exporting.begin(start);
  }

  group(): SpanGroup {
    if (this.exporting === undefined) throw new Error('spans begin only when tracing is ready');
    return this.exporting.group();
  }

  /** Exports the spans that wait, for a limited time. Never rejects. */
  async close(): Promise<void> {
    await this.ready.catch(() => undefined);
    await this.exporting?.close();
  }
}
