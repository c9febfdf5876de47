import type { BackendAddress } from '../model/index.ts';
import { isPartName, type PartName } from './parts.ts';

/**
 * The messages between a proxy and a controller: one HTTP/2 request that stays open, JSON objects in both
 * directions, one a line.
 */
export const protocolVersion = 1;

/** Path of the stream of a Gateway; names with an underscore are of no Gateway, but of something else with a model. */
export const pathOf = (namespace: string, name: string): string =>
  `/v${String(protocolVersion)}/gateways/${namespace}/${name}/stream`;

const pathPattern = new RegExp(`^/v${String(protocolVersion)}/gateways/([a-z0-9.-]+)/([a-z0-9._-]+)/stream$`);

/** The Gateway, as `namespace/name`, whose stream a path is; undefined for other paths. */
export function gatewayOfPath(path: string): string | undefined {
  const [, namespace, name] = pathPattern.exec(path) ?? [];
  return namespace === undefined || name === undefined ? undefined : `${namespace}/${name}`;
}

export type ToProxy =
  /** The first line. The other side is dead when it is silent for three times `beatMs`. */
  | { readonly type: 'welcome'; readonly controller: string; readonly beatMs: number }
  | { readonly type: 'part'; readonly value: unknown }
  | { readonly type: 'endpoints'; readonly key: string; readonly addresses: readonly BackendAddress[] }
  | { readonly type: 'gone'; readonly key: string }
  /** Everything of this whole is there now; answered by `taken` or `refused`. */
  | { readonly type: 'complete'; readonly version: string; readonly root: PartName }
  /** There is no model for this Gateway at present. */
  | { readonly type: 'none'; readonly reason: string }
  | { readonly type: 'beat' }
  /** The controller ends this stream; another one can be asked at once. */
  | { readonly type: 'bye'; readonly reason: string };

export type ToController =
  /** The parts that the proxy has; sent in as many lines as it takes, then `ready`. */
  | {
      readonly type: 'have';
      readonly parts: readonly PartName[];
      readonly endpoints: readonly (readonly [string, PartName])[];
    }
  | { readonly type: 'ready' }
  /** It is in use, but for routes that answer 500 and ports that could not be bound. */
  | {
      readonly type: 'taken';
      readonly version: string;
      readonly broken?: readonly BrokenRoute[];
      readonly closed?: readonly ClosedPort[];
    }
  | { readonly type: 'refused'; readonly version: string; readonly problems: readonly string[] }
  | { readonly type: 'beat' };

/** A route that a proxy cannot serve with all that belongs to it, so that it answers 500. */
export interface BrokenRoute {
  /** As the model names it. */
  readonly route: string;
  readonly problem: string;
}

/** A port that a proxy could not bind, so that the listeners on it are closed. */
export interface ClosedPort {
  readonly port: number;
  readonly protocol: 'TCP' | 'UDP';
  readonly problem: string;
}

/** The parts of a taken model that a proxy cannot do. */
export interface Flaws {
  readonly broken: readonly BrokenRoute[];
  readonly closed: readonly ClosedPort[];
}

/** Longest line, either way. The largest part is a listener with all its certificates. */
export const maxLineBytes = 8 << 20;
export const maxKeyLength = 600;
/** Names in one line of `have`. */
export const haveAtOnce = 2_000;
export const maxProblems = 10;
export const maxProblemLength = 1_000;
export const maxBrokenRoutes = 50;
export const maxClosedPorts = 50;

/** The other side says what cannot be understood. */
export class WireError extends Error {
  override readonly name = 'WireError';
}

type Checks<Message extends { readonly type: string }> = {
  readonly [Type in Message['type']]: (message: Readonly<Record<string, unknown>>) => boolean;
};

const isText = (value: unknown, most: number): value is string =>
  typeof value === 'string' && value.length <= most;
const isKey = (value: unknown): value is string => isText(value, maxKeyLength) && value !== '';

const isAddress = (value: unknown): value is BackendAddress => {
  if (typeof value !== 'object' || value === null) return false;
  const { host, port, zone } = value as Readonly<Record<string, unknown>>;
  return isText(host, 255) && Number.isInteger(port) && (zone === undefined || isText(zone, 255));
};

const isListName = (value: unknown): value is readonly [string, PartName] =>
  Array.isArray(value) && value.length === 2 && isKey(value[0]) && isPartName(value[1]);

const isBrokenRoute = (value: unknown): value is BrokenRoute => {
  if (typeof value !== 'object' || value === null) return false;
  const { route, problem } = value as Readonly<Record<string, unknown>>;
  return isText(route, maxKeyLength) && isText(problem, maxProblemLength);
};

const isClosedPort = (value: unknown): value is ClosedPort => {
  if (typeof value !== 'object' || value === null) return false;
  const { port, protocol, problem } = value as Readonly<Record<string, unknown>>;
  return (
    Number.isInteger(port) && (protocol === 'TCP' || protocol === 'UDP') && isText(problem, maxProblemLength)
  );
};

const isListOf = (value: unknown, most: number, holds: (item: unknown) => boolean): boolean =>
  Array.isArray(value) && value.length <= most && value.every(holds);

const toProxy: Checks<ToProxy> = {
  welcome: ({ controller, beatMs }) => isText(controller, 300) && Number.isInteger(beatMs),
  part: ({ value }) => typeof value === 'object' && value !== null,
  endpoints: ({ key, addresses }) => isKey(key) && isListOf(addresses, Infinity, isAddress),
  gone: ({ key }) => isKey(key),
  complete: ({ version, root }) => isPartName(version) && isPartName(root),
  none: ({ reason }) => isText(reason, maxProblemLength),
  beat: () => true,
  bye: ({ reason }) => isText(reason, maxProblemLength),
};

const toController: Checks<ToController> = {
  have: ({ parts, endpoints }) =>
    isListOf(parts, haveAtOnce, isPartName) && isListOf(endpoints, haveAtOnce, isListName),
  ready: () => true,
  taken: ({ version, broken, closed }) =>
    isPartName(version) &&
    (broken === undefined || isListOf(broken, maxBrokenRoutes, isBrokenRoute)) &&
    (closed === undefined || isListOf(closed, maxClosedPorts, isClosedPort)),
  refused: ({ version, problems }) =>
    isPartName(version) && isListOf(problems, maxProblems, (one) => isText(one, maxProblemLength)),
  beat: () => true,
};

function read<Message extends { readonly type: string }>(line: string, checks: Checks<Message>): Message {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    throw new WireError('a line is not JSON');
  }
  if (typeof value !== 'object' || value === null) throw new WireError('a line is not an object');
  const message = value as Readonly<Record<string, unknown>>;
  const { type } = message;
  if (typeof type !== 'string' || !Object.hasOwn(checks, type))
    throw new WireError('a line of an unknown type');
  if (!checks[type as Message['type']](message)) throw new WireError(`a line of type ${type} is malformed`);
  return message as unknown as Message;
}

/** @throws WireError */
export const readToProxy = (line: string): ToProxy => read<ToProxy>(line, toProxy);
/** @throws WireError */
export const readToController = (line: string): ToController => read<ToController>(line, toController);

/** A line of a message. */
export const written = (message: ToProxy | ToController): string => `${JSON.stringify(message)}\n`;

// The long ones are put together from text that is there already.
export const writtenPart = (text: string): string => `{"type":"part","value":${text}}\n`;
export const writtenEndpoints = (key: string, text: string): string =>
  `{"type":"endpoints","key":${JSON.stringify(key)},"addresses":${text}}\n`;

/** The problems, within the bounds of the wire. */
export const bounded = (problems: readonly string[]): readonly string[] =>
  problems.slice(0, maxProblems).map((text) => text.slice(0, maxProblemLength));

/** The flaws of a taken model, in the bounds of the wire; no field where there is none. */
export const boundedFlaws = ({ broken, closed }: Flaws): Partial<Flaws> => ({
  ...(broken.length === 0
    ? {}
    : {
        broken: broken.slice(0, maxBrokenRoutes).map(({ route, problem }) => ({
          route: route.slice(0, maxKeyLength),
          problem: problem.slice(0, maxProblemLength),
        })),
      }),
  ...(closed.length === 0
    ? {}
    : {
        closed: closed.slice(0, maxClosedPorts).map(({ port, protocol, problem }) => ({
          port,
          protocol,
          problem: problem.slice(0, maxProblemLength),
        })),
      }),
});
