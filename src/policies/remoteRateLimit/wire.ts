/**
 * The messages of the gRPC service `envoy.service.ratelimit.v3.RateLimitService`, in the encoding of Protocol Buffers
 * (`rls.proto` and `ratelimit.proto` of Envoy). The field numbers are the contract with rate limit services.
 */

import { BinaryWriter } from '@bufbuild/protobuf/wire';
import type { HeaderLine } from '../../http/index.ts';
import { eachField, lengthTag as tag, numberTag, textOf } from '../protobufFields.ts';

export const callPath = '/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit';

/** `RateLimitUnit`, by number. */
export const limitUnits: readonly string[] = ['unknown', 'second', 'minute', 'hour', 'day', 'month', 'year'];

/** `RateLimitDescriptor`. */
export interface Descriptor {
  /** Its place in the configuration. */
  readonly index: number;
  /** Key and value. */
  readonly entries: readonly (readonly [string, string])[];
  /** A limit in place of that of the service. */
  readonly limit: LimitOverride | undefined;
  /** The service counts 1 where absent. */
  readonly hits: number | undefined;
}

export interface LimitOverride {
  /** An index of `limitUnits`. */
  readonly unit: number;
  readonly requestsPerUnit: number;
}

/** `RateLimitResponse`. */
export interface RateLimitAnswer {
  readonly isOverLimit: boolean;
  /** In the order of the descriptors of the request. */
  readonly statuses: readonly LimitStatus[];
  readonly responseHeaders: readonly HeaderLine[];
  readonly requestHeaders: readonly HeaderLine[];
  /** Empty: the service sent none. */
  readonly body: Uint8Array;
}

/** `DescriptorStatus`. */
export interface LimitStatus {
  readonly isOverLimit: boolean;
  /** Absent where the service has no limit for the descriptor. */
  readonly requestsPerUnit: number | undefined;
  readonly left: number;
  readonly resetSeconds: number;
}

/** Statuses and headers of an answer that are read; a service has no use for more. */
const mostOfAKind = 64;

export function encodeRequest(domain: string, descriptors: readonly Descriptor[]): Uint8Array {
  const writer = new BinaryWriter().uint32(tag(1)).string(domain);
  for (const descriptor of descriptors) writer.uint32(tag(2)).bytes(encodeDescriptor(descriptor));
  return writer.finish();
}

function encodeDescriptor({ entries, limit, hits }: Descriptor): Uint8Array {
  const writer = new BinaryWriter();
  for (const [key, value] of entries) {
    const entry = new BinaryWriter().uint32(tag(1)).string(key).uint32(tag(2)).string(value);
    writer.uint32(tag(1)).bytes(entry.finish());
  }
  if (limit !== undefined) {
    const override = new BinaryWriter().uint32(numberTag(1)).uint32(limit.requestsPerUnit);
    writer.uint32(tag(2)).bytes(override.uint32(numberTag(2)).uint32(limit.unit).finish());
  }
  // A wrapper (UInt64Value): a cost of 0 is not the same as no cost.
  if (hits !== undefined)
    writer.uint32(tag(3)).bytes(new BinaryWriter().uint32(numberTag(1)).uint64(hits).finish());
  return writer.finish();
}

const [okCode, overLimitCode] = [1, 2];

/** @throws Error for bytes that are none, or hold neither OK nor OVER_LIMIT */
export function decodeAnswer(bytes: Uint8Array): RateLimitAnswer {
  let code = 0;
  let body: Uint8Array = new Uint8Array();
  const statuses: LimitStatus[] = [];
  const responseHeaders: HeaderLine[] = [];
  const requestHeaders: HeaderLine[] = [];
  const add = <Item>(list: Item[], item: () => Item): void => {
    if (list.length < mostOfAKind) list.push(item());
  };
  eachField(bytes, {
    1: (_bytes, number) => (code = number),
    2: (value) => add(statuses, () => decodeStatus(value)),
    3: (value) => add(responseHeaders, () => decodeHeader(value)),
    4: (value) => add(requestHeaders, () => decodeHeader(value)),
    5: (value) => (body = value),
  });
  if (code !== okCode && code !== overLimitCode) throw new Error('the answer is neither OK nor OVER_LIMIT');
  return { isOverLimit: code === overLimitCode, statuses, responseHeaders, requestHeaders, body };
}

function decodeStatus(bytes: Uint8Array): LimitStatus {
  let code = 0;
  let left = 0;
  let resetSeconds = 0;
  let requestsPerUnit: number | undefined;
  eachField(bytes, {
    1: (_bytes, number) => (code = number),
    2: (limit) => {
      requestsPerUnit = 0;
      eachField(limit, { 1: (_bytes, number) => (requestsPerUnit = number) });
    },
    3: (_bytes, number) => (left = number),
    4: (duration) => (resetSeconds = decodeSeconds(duration)),
  });
  return { isOverLimit: code === overLimitCode, requestsPerUnit, left, resetSeconds };
}

/** Whole seconds of a `Duration`, rounded up; 0 for a negative one. */
function decodeSeconds(bytes: Uint8Array): number {
  let [seconds, nanos] = [0, 0];
  eachField(bytes, {
    1: (_bytes, number) => (seconds = number | 0),
    2: (_bytes, number) => (nanos = number | 0),
  });
  return Math.max(0, seconds + (nanos > 0 ? 1 : 0));
}

/** `HeaderValue`: the value is a text, or bytes. */
function decodeHeader(bytes: Uint8Array): HeaderLine {
  let [key, text] = ['', ''];
  const read = (value: Uint8Array): void => {
    if (value.length > 0) text = Buffer.from(value).toString('latin1');
  };
  eachField(bytes, { 1: (name) => (key = textOf(name)), 2: read, 3: read });
  return [key.toLowerCase(), text];
}
