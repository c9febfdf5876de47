import {
  compile,
  durationMs,
  fromCel,
  isProblem,
  newMeter,
  timeText,
  unknownValue,
  wordsFor,
  type CelContext,
  type CelProblem,
  type ExpressionWords,
  type Program,
} from '../../cel/index.ts';
import type { ItemCall, McpItem } from '../../mcp/contract.ts';
import { contextFor } from '../attributes/context.ts';
import { itemAttributes } from '../attributes/declared.ts';
import { expressionWork } from '../attributes/evaluate.ts';
import { compileForRecords, contextOfRecord } from '../attributes/recordFilter.ts';
import type { Exchange } from '../policy.ts';
import { callReader, unknownCall } from './callTime.ts';

/** The result of an expression that an operator tries. */
export type TriedExpression =
  | {
      /** JSON data. */
      readonly value: unknown;
      /** The name of its CEL type. */
      readonly type: string;
    }
  | {
      readonly error: string;
      /** The place in the expression, where the error has one; both count from 1. */
      readonly place?: { readonly line: number; readonly column: number };
    };

/** The names that an expression which is tried on a request may use. */
export const expressionWords = (): ExpressionWords => wordsFor(itemAttributes);

/** Tries an expression on a request, with the attributes that rules about MCP items have. */
export function tryExpression(
  source: string,
  exchange: Exchange,
  found: { readonly item: McpItem; readonly call: ItemCall } | undefined,
): TriedExpression {
  const program = compile(source, itemAttributes);
  if (isProblem(program)) return refused(source, program);
  // The expressions of policies may have spent the budget of the request.
  const own = Object.create(exchange, { workLeft: { value: expressionWork, writable: true } }) as Exchange;
  const read = found === undefined ? unknownCall : callReader([program])(own, found.item, found.call);
  if ('fault' in read) return { error: read.fault };
  return result(program, contextFor([program])(own, found?.item, read), own);
}

/** Tries an expression on a record of a request, as filters of records see it. @param json the record */
export function tryOnRecord(source: string, json: string): TriedExpression {
  const program = compileForRecords(source);
  return isProblem(program) ? refused(source, program) : result(program, contextOfRecord(json), newMeter());
}

function result(program: Program, context: CelContext, meter: { workLeft: number }): TriedExpression {
  const value = program.run(context, meter);
  if (value === unknownValue) return { error: 'the value depends on a call of the item' };
  if (value instanceof Error) return { error: value.message };
  return { value: plain(value), type: program.type === 'dyn' ? typeOf(value) : program.type };
}

/** Values without a form in JSON become texts. */
const plain = (value: unknown): unknown =>
  typeof value === 'number' && !Number.isFinite(value) ? String(value) : fromCel(value, textOf);

function textOf(value: unknown): string {
  const ms = durationMs(value);
  return ms === undefined ? (timeText(value) ?? String(value)) : `${ms / 1_000}s`;
}

function typeOf(value: unknown): string {
  if (value === null) return 'null_type';
  if (typeof value === 'boolean') return 'bool';
  if (typeof value === 'bigint') return 'int';
  if (typeof value === 'number') return 'double';
  if (typeof value === 'string') return 'string';
  if (value instanceof Uint8Array) return 'bytes';
  const data = plain(value);
  return Array.isArray(data) ? 'list' : typeof data === 'object' ? 'map' : 'dyn';
}

function refused(source: string, { message, offset }: CelProblem): TriedExpression {
  const before = source.slice(0, offset).split('\n');
  return { error: message, place: { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 } };
}
