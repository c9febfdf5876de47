/** The answer of a session with several servers to `initialize`, made of the answers of the servers. */

import { ownCopy } from '../../ownCopy.ts';
import { cut, memberOf, stringValue, type Envelope } from '../json/envelope.ts';
import { listed } from '../messages/listNews.ts';

/** A JSON object. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** The answer of one server to `initialize`, as far as the gateway uses it. */
export interface ServerFacts {
  readonly capabilities: JsonObject;
  readonly instructions: string | undefined;
}

/** Characters of the answer of one server that are read. */
const maxLength = 262_144;
const maxDepth = 8;
/** Objects and lists within each other, in one capability. */
const maxNesting = 32;

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Reads the answer of a server to `initialize`; members of another shape than MCP's are left out. */
export function serverFacts({ text, body }: Envelope): ServerFacts {
  const at = (name: string): ReturnType<typeof memberOf> => memberOf(text, body, name);
  const capabilities = at('capabilities');
  const place = at('instructions');
  const instructions =
    typeof place === 'object' && place.end - place.start <= maxLength ? stringValue(text, place) : undefined;
  return {
    capabilities:
      typeof capabilities === 'object' && capabilities.end - capabilities.start <= maxLength
        ? objectOf(cut(text, capabilities))
        : {},
    instructions: instructions && ownCopy(instructions),
  };
}

/** The capabilities that are objects. Any other value, or a very deep one, would spoil the answer of all servers. */
function objectOf(text: string): JsonObject {
  const value: unknown = JSON.parse(text);
  if (!isObject(value)) return {};
  return Object.fromEntries(
    Object.entries(value).filter(([, one]) => isObject(one) && !isDeeper(one, maxNesting)),
  );
}

const isDeeper = (value: unknown, levels: number): boolean =>
  typeof value === 'object' &&
  value !== null &&
  (levels === 0 || Object.values(value).some((one) => isDeeper(one, levels - 1)));

/** Both objects as one: what is true in one of them is true. Members named `__proto__` are left out. */
export function union(one: JsonObject, other: JsonObject, depth = 0): JsonObject {
  const all = new Map<string, unknown>(Object.entries(one));
  for (const [key, value] of Object.entries(other)) {
    const before = all.get(key);
    if (isObject(before) && isObject(value) && depth < maxDepth)
      all.set(key, union(before, value, depth + 1));
    else if (before === undefined || before === false) all.set(key, value);
  }
  all.delete('__proto__');
  return Object.fromEntries(all);
}

/** Does the server say when a list such as `tools/list` changes? */
export function announces({ capabilities }: ServerFacts, method: string): boolean {
  const feature = capabilities[featureOf(method)];
  return isObject(feature) && feature['listChanged'] === true;
}

/** Does the server have the feature of a method such as `tools/list`? */
export const has = ({ capabilities }: ServerFacts, method: string): boolean =>
  isObject(capabilities[featureOf(method)]);

/** Methods whose capability has another name than their first part. */
const features: Readonly<Record<string, string>> = { completion: 'completions' };

function featureOf(method: string): string {
  const first = method.split('/', 1)[0]!;
  return features[first] ?? first;
}

/** A target that is not known yet may have all of these. */
const unknownServer: JsonObject = { tools: {}, prompts: {}, resources: {} };
/** A target in the answer to the client's `initialize`. */
export interface TargetAnswer {
  /** The target's name today. */
  readonly name: string;
  /** Undefined where the target has not answered. */
  readonly facts: ServerFacts | undefined;
}

interface ServerName {
  /** The name of the backend, where the operator has given it one. */
  readonly name: string | undefined;
  /** The version of the gateway. */
  readonly version: string;
}

/**
 * The result of `initialize` for a client of all targets. Lists may change while the session lives, because targets
 * come and go.
 */
export function initializeResult(
  protocolVersion: string,
  { name = 'portcullis', version }: ServerName,
  targets: readonly TargetAnswer[],
): JsonObject {
  let capabilities: JsonObject = {};
  for (const { facts } of targets) capabilities = union(capabilities, facts?.capabilities ?? unknownServer);
  for (const feature of listed)
    if (isObject(capabilities[feature]))
      capabilities = { ...capabilities, [feature]: { ...capabilities[feature], listChanged: true } };
  const instructions = targets.flatMap(({ name, facts }) =>
    facts?.instructions === undefined ? [] : [`${name}: ${facts.instructions}`],
  );
  return {
    protocolVersion,
    capabilities,
    serverInfo: { name, title: targets.map(({ name }) => name).join(', '), version },
    ...(instructions.length === 0 ? {} : { instructions: instructions.join('\n\n') }),
  };
}
