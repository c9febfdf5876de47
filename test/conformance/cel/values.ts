import {
  celList,
  celMap,
  celType,
  celUint,
  isCelList,
  isCelMap,
  isCelType,
  isCelUint,
  type CelInput,
  type CelValue,
} from '@bufbuild/cel';
import type { Value } from '@bufbuild/cel-spec/cel/expr/value_pb.js';
import { equals } from '@bufbuild/protobuf';
import { isReflectMessage } from '@bufbuild/protobuf/reflect';
import { anyUnpack } from '@bufbuild/protobuf/wkt';
import { registry } from './cases.ts';

/** The bindings of a test, as the engine takes them. */
export function toInput(value: Value): CelInput {
  const { kind } = value;
  switch (kind.case) {
    case 'nullValue':
      return null;
    case 'boolValue':
    case 'int64Value':
    case 'doubleValue':
    case 'stringValue':
    case 'bytesValue':
      return kind.value;
    case 'uint64Value':
      return celUint(kind.value);
    case 'enumValue':
      return BigInt(kind.value.value);
    case 'listValue':
      return celList(kind.value.values.map(toInput));
    case 'mapValue':
      return celMap(
        new Map(kind.value.entries.map((entry) => [toKey(entry.key), toInput(present(entry.value))])),
      );
    case 'objectValue':
      return present(anyUnpack(kind.value, registry));
    default:
      throw new Error(`a test binds a ${String(kind.case)}`);
  }
}

type Key = string | bigint | boolean;

function toKey(value: Value | undefined): Key {
  const key = toInput(present(value));
  if (isCelUint(key)) return key as unknown as Key;
  if (typeof key === 'string' || typeof key === 'bigint' || typeof key === 'boolean') return key;
  throw new Error('a test binds a map with another kind of key');
}

function present<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('the test data is incomplete');
  return value;
}

/** Is `actual` the very value that the test wants, type included (1 is not 1u, and not 1.0)? */
export function matches(wanted: Value, actual: CelValue): boolean {
  const { kind } = wanted;
  switch (kind.case) {
    case 'nullValue':
      return actual === null;
    case 'boolValue':
    case 'int64Value':
    case 'stringValue':
      return actual === kind.value;
    case 'enumValue':
      return actual === BigInt(kind.value.value);
    case 'uint64Value':
      return isCelUint(actual) && actual.value === kind.value;
    case 'doubleValue':
      // NaN is wanted as such, and -0 is not 0.
      return typeof actual === 'number' && Object.is(actual, kind.value);
    case 'bytesValue':
      return actual instanceof Uint8Array && Buffer.from(actual).equals(kind.value);
    case 'typeValue':
      return isCelType(actual) && actual.name === kind.value;
    case 'listValue': {
      const items = isCelList(actual) ? [...actual] : [];
      const { values } = kind.value;
      return isCelList(actual) && sameList(values, items);
    }
    case 'mapValue':
      return isCelMap(actual) && sameMap(kind.value.entries, [...actual.entries()] as [CelValue, CelValue][]);
    case 'objectValue': {
      const message = present(anyUnpack(kind.value, registry));
      const schema = present(registry.getMessage(message.$typeName));
      if (!isReflectMessage(actual) || actual.desc.typeName !== schema.typeName) return false;
      return equals(schema, actual.message, message, { registry, unpackAny: true, extensions: true });
    }
    default:
      return false;
  }
}

const sameList = (wanted: readonly Value[], actual: readonly CelValue[]): boolean =>
  wanted.length === actual.length && wanted.every((item, i) => matches(item, actual[i] as CelValue));

function sameMap(
  wanted: readonly { readonly key?: Value | undefined; readonly value?: Value | undefined }[],
  actual: readonly (readonly [CelValue, CelValue])[],
): boolean {
  if (wanted.length !== actual.length) return false;
  return wanted.every(({ key, value }) =>
    actual.some(([k, v]) => matches(present(key), k) && matches(present(value), v)),
  );
}

/** For messages. */
export function show(value: CelValue): string {
  if (typeof value === 'bigint' || typeof value === 'number' || typeof value === 'boolean')
    return `${celType(value).name}(${value})`;
  if (typeof value === 'string') return JSON.stringify(value);
  if (isCelUint(value)) return `${value.value}u`;
  if (isCelType(value)) return `type(${value.name})`;
  if (isCelList(value)) return `[${[...value].map(show).join(', ')}]`;
  if (isCelMap(value))
    return `{${[...value.entries()].map(([k, v]) => `${show(k as CelValue)}: ${show(v)}`).join(', ')}}`;
  return value === null ? 'null' : celType(value).name;
}
