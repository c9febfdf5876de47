import { isCelList, isCelMap, isCelUint } from '@bufbuild/cel';
import type { CelInput } from '@bufbuild/cel';
import { create, isMessage, toJson } from '@bufbuild/protobuf';
import { reflect } from '@bufbuild/protobuf/reflect';
import { DurationSchema, TimestampSchema } from '@bufbuild/protobuf/wkt';

/**
 * JSON data as CEL values. Done by hand because the library guesses: an object with a member `$typeName` would be
 * taken for a protobuf message and one with a member `constructor` refused, and both may stand in a token.
 * Whole numbers become `int`, others `double`.
 */
export function toCel(value: unknown): CelInput {
  switch (typeof value) {
    case 'string':
    case 'boolean':
    case 'bigint':
      return value;
    case 'number':
      return Number.isSafeInteger(value) ? BigInt(value) : value;
    case 'object':
      if (value === null) return null;
      if (Array.isArray(value)) return value.map(toCel);
      return new Map(Object.entries(value).map(([key, item]) => [key, toCel(item)]));
    default:
      throw new TypeError(`not JSON data: ${typeof value}`);
  }
}

const refuse = (value: unknown): never => {
  throw new Error(typeof value === 'bigint' ? 'integer out of range for JSON' : 'the value has no JSON form');
};

/**
 * Back to what JSON can say.
 * @param withoutForm what stands for anything else, such as a time
 * @throws Error for anything else, unless `withoutForm` is given
 */
export function fromCel(value: unknown, withoutForm: (value: unknown) => unknown = refuse): unknown {
  if (value === null || ['string', 'boolean', 'number'].includes(typeof value)) return value;
  if (typeof value === 'bigint') {
    if (value > BigInt(Number.MAX_SAFE_INTEGER) || value < BigInt(Number.MIN_SAFE_INTEGER))
      return withoutForm(value);
    return Number(value);
  }
  if (isCelUint(value)) return fromCel(value.value, withoutForm);
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64');
  if (Array.isArray(value) || isCelList(value)) return [...value].map((item) => fromCel(item, withoutForm));
  if (value instanceof Map || isCelMap(value))
    return Object.fromEntries(
      [...value.entries()].map(([key, item]) => [keyText(key), fromCel(item, withoutForm)]),
    );
  return withoutForm(value);
}

const keyText = (key: unknown): string => (isCelUint(key) ? String(key.value) : String(key));

/** A CEL duration of so many milliseconds, to the nanosecond. */
export function celDuration(ms: number): CelInput {
  const nanos = Math.round(ms * 1e6);
  const message = create(DurationSchema, { seconds: BigInt(Math.trunc(nanos / 1e9)), nanos: nanos % 1e9 });
  return reflect(DurationSchema, message);
}

/** A CEL number (int, uint or double) as one of JavaScript; undefined for any other value. */
export function celNumber(value: unknown): number | undefined {
  if (typeof value === 'number') return value;
  if (typeof value === 'bigint') return Number(value);
  return isCelUint(value) ? Number(value.value) : undefined;
}

/** Milliseconds of a CEL duration; undefined for any other value. */
export function durationMs(value: unknown): number | undefined {
  if (typeof value !== 'object' || value === null || !('message' in value)) return undefined;
  const { message } = value as { message?: { $typeName?: string; seconds?: bigint; nanos?: number } };
  if (message?.$typeName !== 'google.protobuf.Duration') return undefined;
  return Number(message.seconds ?? 0n) * 1000 + (message.nanos ?? 0) / 1e6;
}

/** A CEL number, truth value, duration or time as text; undefined for any other value. */
export function scalarText(value: unknown): string | undefined {
  if (['boolean', 'bigint', 'number'].includes(typeof value)) return String(value);
  if (isCelUint(value)) return String(value.value);
  const ms = durationMs(value);
  return ms === undefined ? timeText(value) : `${ms / 1000}s`;
}

/** A CEL timestamp as RFC 3339 has it; undefined for any other value. */
export function timeText(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null || !('message' in value)) return undefined;
  return isMessage(value.message, TimestampSchema) ? toJson(TimestampSchema, value.message) : undefined;
}
