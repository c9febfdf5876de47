import { celNumber, type CelContext, type Program } from '../../cel/index.ts';
import { compiled } from '../attributes/compiled.ts';
import { contextFor } from '../attributes/context.ts';
import { requestAttributes } from '../attributes/declared.ts';
import { jsonOf } from '../attributes/endedRequest.ts';
import { evaluate } from '../attributes/evaluate.ts';
import { textOf } from '../protobufFields.ts';
import type { Exchange } from '../policy.ts';
import type { DescriptorSettings } from './facts.ts';
import { limitUnits, type Descriptor, type LimitOverride } from './wire.ts';

/** An expression, and its name for the operator. */
interface Part {
  readonly program: Program;
  readonly what: string;
}

interface Compiled {
  readonly index: number;
  readonly entries: readonly (Part & { readonly key: string })[];
  readonly cost: Part | undefined;
  readonly limitOverride: Part | undefined;
}

/** Hits of one request: the service takes no more (`ratelimit.proto`). */
const mostHits = 1_000_000_000;

/**
 * Finds the descriptors of a request. A descriptor is left out where one of its expressions fails or has no usable value.
 * @throws Error for an expression that does not compile
 */
export function descriptorsOf(
  settings: readonly DescriptorSettings[],
): (exchange: Exchange) => readonly Descriptor[] {
  const all = settings.map(compiledDescriptor);
  const programs = all.flatMap(({ entries, cost, limitOverride }) =>
    [...entries, cost, limitOverride].flatMap((part) => (part === undefined ? [] : [part.program])),
  );
  const contextOf = contextFor(programs);
  return (exchange) => {
    const context = contextOf(exchange);
    return all.flatMap((one) => descriptorOf(one, context, exchange) ?? []);
  };
}

function compiledDescriptor({ entries, cost, limitOverride }: DescriptorSettings, index: number): Compiled {
  const at = `remoteRateLimit.descriptors[${String(index)}]`;
  return {
    index,
    entries: entries.map(({ key, value }, nth) => ({
      key,
      ...partOf(value, `${at}.entries[${String(nth)}].value`),
    })),
    cost: cost === undefined ? undefined : partOf(cost, `${at}.cost`),
    limitOverride: limitOverride === undefined ? undefined : partOf(limitOverride, `${at}.limitOverride`),
  };
}

const partOf = (source: string, what: string): Part => ({
  program: compiled(source, requestAttributes, what),
  what,
});

function descriptorOf(
  { index, entries: parts, cost, limitOverride }: Compiled,
  context: CelContext,
  exchange: Exchange,
): Descriptor | undefined {
  const entries: (readonly [string, string])[] = [];
  for (const part of parts) {
    const text = valueOf(part, context, exchange, entryText, 'a text');
    if (text === undefined) return undefined;
    entries.push([part.key, text]);
  }
  const hits = cost && valueOf(cost, context, exchange, hitsOf, 'a number of hits');
  if (cost !== undefined && hits === undefined) return undefined;
  const limit = limitOverride && valueOf(limitOverride, context, exchange, limitOf, 'a limit');
  if (limitOverride !== undefined && limit === undefined) return undefined;
  return { index, entries, hits, limit };
}

/** The value in the form that the service gets; undefined where there is none. Null is an absent value and no failure. */
function valueOf<Form>(
  { program, what }: Part,
  context: CelContext,
  exchange: Exchange,
  form: (value: unknown) => Form | undefined,
  wanted: string,
): Form | undefined {
  const value = evaluate(program, context, exchange, what);
  if (value === null || value instanceof Error) return undefined;
  const formed = form(value);
  if (formed === undefined)
    exchange.expressionFailed?.(
      { policy: 'remoteRateLimit', rule: what, place: what.slice('remoteRateLimit'.length) },
      `the value is not ${wanted}`,
    );
  return formed;
}

function entryText(value: unknown): string | undefined {
  if (typeof value === 'string' || typeof value === 'boolean') return String(value);
  if (value instanceof Uint8Array) {
    try {
      return textOf(value);
    } catch {
      return undefined;
    }
  }
  if (typeof value === 'bigint') return String(value);
  const number = celNumber(value);
  return number === undefined ? undefined : String(number);
}

/** A request cannot take hits back, and one that is very expensive counts as much as the service takes. */
function hitsOf(value: unknown): number | undefined {
  const number = celNumber(value);
  if (number === undefined || Number.isNaN(number) || number < 0) return undefined;
  return Math.min(Math.ceil(number), mostHits);
}

function limitOf(value: unknown): LimitOverride | undefined {
  const map = jsonOf(value);
  if (typeof map !== 'object' || map === null) return undefined;
  const { unit, requestsPerUnit } = map as Record<string, unknown>;
  const number = limitUnits.indexOf(String(unit));
  if (number < 1 || !Number.isInteger(requestsPerUnit)) return undefined;
  const requests = requestsPerUnit as number;
  return requests < 0 || requests > 0xff_ff_ff_ff ? undefined : { unit: number, requestsPerUnit: requests };
}
