import { compileRecord, type CompiledRecord } from '../../policies/index.ts';
import type { LogExportSettings } from '../../model/index.ts';
import type { AccessRecord } from '../../telemetry/index.ts';
import type { LogExport } from '../../tracing/index.ts';
import { exchangeRecord } from './accessRecords.ts';
import { computedFields } from './endedFields.ts';
import type { LiveExchange } from './liveExchange.ts';

/** Decides which requests have an exported log record, and which fields the record has. */
export class RequestLogExport {
  private readonly records: LogExport;
  private readonly fields: CompiledRecord | undefined;

  /** @throws Error for an expression that does not compile */
  constructor(records: LogExport, { filter, add }: LogExportSettings) {
    this.records = records;
    if (filter !== undefined || add !== undefined)
      this.fields = compileRecord({ ...(filter !== undefined && { filter }), ...(add && { add }) }, 'otlp');
  }

  /** A field or the filter reads the head of the response. */
  get readsResponse(): boolean {
    return this.fields?.readsResponse === true;
  }

  /** A request is about to end: the expressions can still read its head. */
  note(exchange: LiveExchange): void {
    if (this.fields === undefined || exchange.relayed || exchange.trial !== undefined) return;
    exchange.exported = computedFields(exchange, this.fields) ?? 'left out';
  }

  /** A request has ended. */
  finished(exchange: LiveExchange, bind: string, durationMs: number): void {
    const { exported, span } = exchange;
    if (exported === 'left out') return;
    this.records.write(
      { ...exchangeRecord(exchange, bind, durationMs), added: exported },
      span?.server.place,
    );
  }

  /** Bytes that were no request have ended. */
  write(record: AccessRecord): void {
    this.records.write(record);
  }
}
