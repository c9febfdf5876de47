import { fromBinary, fromJson, toBinary, toJson, type JsonObject } from '@bufbuild/protobuf';
import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';
import { StructSchema } from '@bufbuild/protobuf/wkt';

const nothing = new Uint8Array();
const utf8 = new TextDecoder('utf-8', { fatal: true });

/** The tag of a field with a length, such as a text or a message. */
export const lengthTag = (field: number): number => (field << 3) | WireType.LengthDelimited;

/** The tag of a field with a number. */
export const numberTag = (field: number): number => (field << 3) | WireType.Varint;

/** A JSON object as `google.protobuf.Struct`. */
export const encodeStruct = (value: JsonObject): Uint8Array =>
  toBinary(StructSchema, fromJson(StructSchema, value));

/** @throws Error for bytes that are no `google.protobuf.Struct` */
export const decodeStruct = (bytes: Uint8Array): JsonObject =>
  toJson(StructSchema, fromBinary(StructSchema, bytes)) as JsonObject;

/** @throws TypeError for bytes that are no UTF-8 */
export const textOf = (bytes: Uint8Array): string => utf8.decode(bytes);

/** Calls the reader of each field of a message with its bytes, or its number; a field without a reader is skipped. */
export function eachField(
  bytes: Uint8Array,
  readers: Readonly<Record<number, (value: Uint8Array, number: number) => void>>,
): void {
  const reader = new BinaryReader(bytes);
  while (reader.pos < reader.len) {
    const [field, type] = reader.tag();
    const read = readers[field];
    if (type === WireType.LengthDelimited) {
      const value = reader.bytes();
      read?.(value, 0);
    } else if (type === WireType.Varint) {
      const number = reader.uint32();
      read?.(nothing, number);
    } else reader.skip(type);
  }
}
