import type { LogExportSettings } from '../model/index.ts';
import type { AccessRecord } from '../telemetry/index.ts';
import type { SpanPlace } from './contract.ts';
import type { QueueTools } from './exportQueue.ts';
import type { LogExporting } from './logSdk.ts';

/** The export of access log records. The libraries of OpenTelemetry load only when one is made. */
export class LogExport {
  /** Resolves when records are taken. Rejects where the libraries cannot be loaded. */
  readonly ready: Promise<void>;
  private exporting: LogExporting | undefined;

  constructor(settings: LogExportSettings, tools: QueueTools) {
    // An added field stands in place of the field of the same name.
    const removed = new Set([...(settings.remove ?? []), ...Object.keys(settings.add ?? {})]);
    this.ready = import('./logSdk.ts').then(async ({ startLogExport }) => {
      this.exporting = await startLogExport(settings, removed, tools);
    });
    this.ready.catch(() => undefined);
  }

  /** @param span the span of the request; absent: it has none */
  write(record: AccessRecord, span?: SpanPlace): void {
    this.exporting?.write(record, span);
  }

  /** Exports the records that wait, for a limited time. Never rejects. */
  async close(): Promise<void> {
    await this.ready.catch(() => undefined);
    await this.exporting?.close();
  }
}
