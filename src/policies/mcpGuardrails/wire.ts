/**
 * The messages of the gRPC service `agentgateway.dev.ext_mcp.ExtMcp`, in the encoding of Protocol Buffers. The field
 * numbers are the contract with processors of the format.
 */

import type { JsonObject } from '@bufbuild/protobuf';
import { BinaryWriter } from '@bufbuild/protobuf/wire';
import type { HeaderLine } from '../../http/index.ts';
import { decodeStruct, eachField, encodeStruct, lengthTag as tag, textOf } from '../protobufFields.ts';

/** The path of a call. */
export const callPath = {
  request: '/agentgateway.dev.ext_mcp.ExtMcp/CheckRequest',
  response: '/agentgateway.dev.ext_mcp.ExtMcp/CheckResponse',
} as const;

/** The content of `McpRequest`, or of `McpResponse`, which has no headers. */
export interface CheckMessage {
  readonly targets: readonly string[];
  readonly method: string;
  /** JSON data. */
  readonly metadata: JsonObject;
  /** JSON text of the params or of the result; absent for a request without params. */
  readonly json: string | undefined;
  readonly headers: readonly HeaderLine[];
}

/** The codes of `AuthorizationError`, by number. */
export const refusalCodes = ['UNKNOWN', 'PERMISSION_DENIED', 'RESOURCE_EXHAUSTED', 'INVALID'] as const;
export type RefusalCode = (typeof refusalCodes)[number];

/** The content of `McpRequestResult`, or of `McpResponseResult`. */
export interface CheckAnswer {
  readonly verdict:
    | { readonly kind: 'pass' }
    | { readonly kind: 'mutated'; readonly json: string }
    | {
        readonly kind: 'error';
        readonly code: RefusalCode;
        readonly reason: string;
        /** JSON text of a JSON-RPC error. */
        readonly mcpError: string | undefined;
      };
  readonly set: readonly HeaderLine[];
  readonly remove: readonly string[];
  /** JSON data. */
  readonly metadata: JsonObject;
}

/** Encodes `McpRequest` or `McpResponse`: both have the same numbers. */
export function encodeCheck({ targets, method, metadata, json, headers }: CheckMessage): Uint8Array {
  const writer = new BinaryWriter();
  for (const target of targets) writer.uint32(tag(1)).string(target);
  writer.uint32(tag(2)).string(method);
  writer.uint32(tag(3)).bytes(encodeStruct(metadata));
  if (json !== undefined) writer.uint32(tag(4)).bytes(Buffer.from(json));
  for (const [name, value] of headers) {
    const header = new BinaryWriter().uint32(tag(1)).string(name);
    header.uint32(tag(2)).bytes(Buffer.from(value, 'latin1'));
    writer.uint32(tag(5)).bytes(header.finish());
  }
  return writer.finish();
}

/**
 * Decodes `McpRequestResult` or `McpResponseResult`.
 * @throws Error for bytes that are none, or hold no verdict
 */
export function decodeAnswer(bytes: Uint8Array): CheckAnswer {
  let verdict: CheckAnswer['verdict'] | undefined;
  let changes: Pick<CheckAnswer, 'set' | 'remove'> = { set: [], remove: [] };
  let metadata: JsonObject = {};
  eachField(bytes, {
    1: () => (verdict = { kind: 'pass' }),
    2: (value) => (verdict = { kind: 'mutated', json: textOf(value) }),
    3: (value) => (verdict = { kind: 'error', ...decodeError(value) }),
    4: (value) => (changes = decodeChanges(value)),
    5: (value) => (metadata = decodeStruct(value)),
  });
  if (verdict === undefined) throw new Error('the answer is none of pass, mutated and error');
  return { verdict, ...changes, metadata };
}

function decodeError(bytes: Uint8Array): { code: RefusalCode; reason: string; mcpError: string | undefined } {
  let code: RefusalCode = 'UNKNOWN';
  let reason = '';
  let mcpError: string | undefined;
  eachField(bytes, {
    1: (_bytes, number) => (code = refusalCodes[number] ?? 'UNKNOWN'),
    2: (value) => (reason = textOf(value)),
    3: (value) => (mcpError = textOf(value)),
  });
  return { code, reason, mcpError };
}

function decodeChanges(bytes: Uint8Array): Pick<CheckAnswer, 'set' | 'remove'> {
  const set: HeaderLine[] = [];
  const remove: string[] = [];
  eachField(bytes, {
    1: (value) => {
      let [key, text] = ['', ''];
      eachField(value, {
        1: (name) => (key = textOf(name)),
        2: (content) => (text = Buffer.from(content).toString('latin1')),
      });
      set.push([key.toLowerCase(), text]);
    },
    2: (value) => remove.push(textOf(value).toLowerCase()),
  });
  return { set, remove };
}
