/** Turns the responses of a server of the modern era into those of the legacy era. */

import { readEnvelope, stringValue, type Envelope, type Span } from '../../json/envelope.ts';
import { errorCodeOf, placeInError } from '../../json/errorMember.ts';
import { memberEdits, objectMembers, withEditedResult } from '../../json/objectMembers.ts';
import { splice } from '../../json/scan.ts';
import { modernErrors } from '../../messages/eras.ts';

/** Members of results that the legacy era does not have. */
const modernMembers: ReadonlySet<string> = new Set(['resultType', 'ttlMs', 'cacheScope']);

/** A result that asks the client: the places of its members. */
export interface InputRequired {
  readonly type: 'input_required';
  readonly requests: Span | undefined;
  readonly state: Span | undefined;
}

/** A result of a server of the modern era. */
export type ResultReading =
  | { readonly type: 'complete'; readonly response: Envelope }
  | InputRequired
  /** Any other type, or a result that cannot be read. */
  | { readonly type: 'unknown'; readonly what: string };

/** Reads a result; the response of a complete one has lost the members of the modern era. */
export function readResult(response: Envelope): ResultReading {
  const { text, body } = response;
  const members = body && objectMembers(text, body);
  // It is for the client to say what it thinks of such a result.
  if (body === undefined || members === undefined) return { type: 'complete', response };
  const valuesOf = (name: string): readonly Span[] =>
    members.filter((one) => one.name === name).map(({ value }) => value);
  const [typePlace, second] = valuesOf('resultType');
  const type = typePlace === undefined ? 'complete' : stringValue(text, typePlace);
  if (second !== undefined) return { type: 'unknown', what: 'with two types' };
  if (type === 'complete') {
    const edits = memberEdits(text, body, members, (name) => modernMembers.has(name));
    return { type, response: withEditedResult(response, edits) };
  }
  if (type !== 'input_required')
    return { type: 'unknown', what: `of the type ${JSON.stringify(type?.slice(0, 64) ?? null)}` };
  const [requests, ...otherRequests] = valuesOf('inputRequests');
  const [state, ...otherStates] = valuesOf('requestState');
  if (otherRequests.length > 0 || otherStates.length > 0)
    return { type: 'unknown', what: 'with a repeated member' };
  return { type, requests, state };
}

/** Errors of the modern era → errors that a client of the legacy era knows (JSON-RPC 2.0 §5.1). */
const legacyCodes: ReadonlyMap<number, number> = new Map([
  // The gateway and the server do not understand each other.
  [modernErrors.headerMismatch, -32603],
  [modernErrors.unsupportedVersion, -32603],
  // 2025-11-25, Elicitation: "Server sends an elicitation request with a mode not declared" is -32602.
  [modernErrors.missingCapability, -32602],
]);

/** An error response as the legacy era knows it. */
export function legacyError(response: Envelope): Envelope {
  const code = legacyCodes.get(errorCodeOf(response) ?? 0);
  const place = placeInError(response, 'code');
  if (code === undefined || place === undefined) return response;
  const changed = readEnvelope(splice(response.text, [{ ...place, replacement: String(code) }]));
  return typeof changed === 'string' ? response : changed;
}
