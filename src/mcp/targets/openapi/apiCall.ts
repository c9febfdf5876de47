import type { ErrorCode } from '../../../errors.ts';
import type { ApiOperation, Limits } from '../../../model/index.ts';
import type { Reach } from '../../contract.ts';
import { withoutSecrets } from '../conversation/failures.ts';
import { ApiExchange, type ApiAnswer } from './apiExchange.ts';
import { apiRequest, type ApiRequest } from './apiRequest.ts';
import { ArgumentError } from './callArguments.ts';
import { errorResult, toolResult } from './toolResult.ts';

export interface ApiCallStart {
  readonly operation: ApiOperation;
  /** As the client wrote them. */
  readonly arguments: string | undefined;
  readonly reach: Reach;
  readonly usesServerPath: boolean;
  readonly patient: boolean;
  readonly limits: Limits;
}

/** Hears of the end of a call: one of them, unless the call is abandoned. */
export interface ApiCallEnd {
  /** The result as JSON text without line breaks. */
  result(text: string): void;
  failed(code: ErrorCode, detail: string): void;
  unusable(what: string, isTooLarge: boolean): void;
  /** A defect; the result may have been told before. */
  broken(error: unknown): void;
}

/** A call of a tool: one request of the API, and its answer as a result. */
export class ApiCall {
  private readonly start: ApiCallStart;
  private readonly end: ApiCallEnd;
  private exchange: ApiExchange | undefined;
  private over = false;
  private paused = false;

  constructor(start: ApiCallStart, end: ApiCallEnd) {
    this.start = start;
    this.end = end;
  }

  begin(): void {
    const { operation, reach, patient, limits } = this.start;
    const request = this.request();
    if (request === undefined) return;
    const { maxMcpMessageBytes: maxBytes, bodyTimeoutMs } = limits;
    const exchange = new ApiExchange(
      operation.method,
      request,
      reach.destination,
      patient,
      { maxBytes, bodyTimeoutMs },
      {
        answered: (answer) => void this.answered(answer),
        failed: (code, detail) => this.end.failed(code, detail),
        unusable: (what, isTooLarge) => this.end.unusable(what, isTooLarge),
      },
    );
    this.exchange = exchange;
    if (this.paused) exchange.pause();
    exchange.begin();
  }

  get backlog(): number {
    return this.exchange?.backlog ?? 0;
  }

  pause(): void {
    this.paused = true;
    this.exchange?.pause();
  }

  resume(): void {
    this.paused = false;
    this.exchange?.resume();
  }

  tick(now: number): void {
    this.exchange?.tick(now);
  }

  abandon(): void {
    this.over = true;
    this.exchange?.abandon();
  }

  /** The request; undefined where the arguments do not fit, which the client hears. */
  private request(): ApiRequest | undefined {
    const { operation, arguments: given, reach, usesServerPath } = this.start;
    try {
      return apiRequest(operation, given, reach, usesServerPath);
    } catch (error) {
      if (!(error instanceof ArgumentError)) throw error;
      this.end.result(errorResult(`Invalid arguments: ${error.message}`));
      return undefined;
    }
  }

  /** Never rejects. */
  private async answered(answer: ApiAnswer): Promise<void> {
    const { operation, limits, reach } = this.start;
    try {
      const result = await toolResult(answer, {
        tool: operation.tool.name,
        promisesObject: operation.promisesObject,
        maxJsonDepth: limits.maxJsonDepth,
        redact: (text) => withoutSecrets(text, reach),
      });
      if (!this.over) this.end.result(result);
    } catch (error) {
      this.end.broken(error);
    }
  }
}
