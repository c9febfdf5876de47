import { celDuration, draw, toCel, unknownValue, type CelContext, type Program } from '../../cel/index.ts';
import type { McpItem } from '../../mcp/contract.ts';
import { networkOf, type HeaderLine } from '../../http/index.ts';
import type { AnswerHead, ApiKeyHolder, Exchange, Identity } from '../policy.ts';

type Value = CelContext[string];
type Reader = (exchange: Exchange) => Value | undefined;

/** Reads each declared attribute of a request; `declared.ts` lists them. */
const readers: Readonly<Record<string, Readonly<Record<string, Reader>>>> = {
  request: {
    method: (exchange) => exchange.request.method,
    uri: (exchange) => `${exchange.request.scheme}://${exchange.request.authority}${exchange.request.target}`,
    host: (exchange) => exchange.request.host,
    scheme: (exchange) => exchange.request.scheme,
    path: (exchange) => exchange.request.path,
    pathAndQuery: (exchange) => exchange.request.target,
    version: (exchange) => exchange.request.version,
    headers: (exchange) => headerMap(exchange),
    startTime: (exchange) => new Date(exchange.request.startedAt).toISOString(),
  },
  source: {
    address: (exchange) => exchange.request.remoteAddress,
    network: (exchange) => networkOf(exchange.request.remoteAddress),
    port: (exchange) => BigInt(exchange.request.remotePort),
    rawAddress: (exchange) => exchange.request.peer?.address ?? exchange.request.remoteAddress,
    rawPort: (exchange) => BigInt(exchange.request.peer?.port ?? exchange.request.remotePort),
    spiffeId: (exchange) => spiffeIdOf(exchange),
    identity: (exchange) => identityOf(spiffeIdOf(exchange)),
    subjectAltNames: (exchange) => alternativeNames(exchange),
    issuer: (exchange) => exchange.request.clientCertificate?.issuer,
    subject: (exchange) => exchange.request.clientCertificate?.subject,
    subjectCn: (exchange) => exchange.request.clientCertificate?.subjectCn,
    certificate: (exchange) => exchange.request.clientCertificate?.pem,
  },
  destination: {
    address: (exchange) => exchange.request.localAddress,
    port: (exchange) => BigInt(exchange.request.localPort),
    hostname: ({ request }) => request.serverName ?? (request.scheme === 'http' ? request.host : undefined),
  },
  proxy: {
    bind: (exchange) => exchange.passage.bind,
    gateway: (exchange) => named(exchange.passage.gateway),
    listener: (exchange) => named({ name: exchange.passage.listener }),
    route: (exchange) => named(exchange.passage.route),
    requestProcessingDuration: ({ timing }) => timing && celDuration(timing.requestMs),
    upstreamDuration: ({ timing }) => timing && celDuration(timing.upstreamMs),
  },
  backend: {
    name: (exchange) => exchange.chosen?.name,
    type: (exchange) => exchange.chosen?.type,
    protocol: (exchange) => exchange.chosen?.protocol,
  },
  env: {
    podName: () => process.env.POD_NAME,
    namespace: () => process.env.NAMESPACE,
    gateway: () => process.env.GATEWAY,
  },
};

const spiffeIdOf = (exchange: Exchange): string | undefined =>
  exchange.request.clientCertificate?.subjectAltNames.find((name) => name.startsWith('spiffe://'));

/** Parts of a workload's name in the form that service meshes give it. */
function identityOf(spiffeId: string | undefined): Value | undefined {
  const parts = /^spiffe:\/\/([^/]+)\/ns\/([^/]+)\/sa\/([^/]+)$/.exec(spiffeId ?? '');
  if (parts === null) return undefined;
  const [, trustDomain = '', namespace = '', serviceAccount = ''] = parts;
  return new Map(Object.entries({ trustDomain, namespace, serviceAccount }));
}

/** Members without a value are left out, so that `has` tells. */
function named(members: object | undefined): Value | undefined {
  if (members === undefined) return undefined;
  return new Map(
    Object.entries(members).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  );
}

/** The part of `mcp` that belongs to one call of an item. */
export interface CallValues {
  /** The arguments of a tool; `unknownValue` where the gateway does not know them. */
  readonly arguments: Value;
  /** Further members of `mcp`. */
  readonly members: ReadonlyMap<string, Value>;
  /** Is a value unknown that the item has? */
  readonly isOpen: boolean;
}

/** Makes what one run of a program sees. `item` is set where an MCP item is judged. */
export type ContextOf = (exchange: Exchange, item?: McpItem, call?: CallValues) => CelContext;

/** Reads only what the programs use. */
export function contextFor(programs: readonly Program[]): ContextOf {
  const uses = (name: string): boolean => programs.some((program) => program.uses(name));
  const groups = Object.entries(readers).flatMap(([group, members]) => {
    const whole = programs.some((program) => program.variables.includes(group));
    const wanted = Object.entries(members).filter(([name]) => whole || uses(`${group}.${name}`));
    return whole || wanted.length > 0 ? [{ group, members: wanted }] : [];
  });
  const claims = uses('jwt') || uses('auth');
  const apiKey = uses('apiKey');
  const basicAuth = uses('basicAuth');
  const mcp = uses('mcp');
  const extAuthz = uses('extauthz');

  /** The part of the context that is the same for every item of a request. */
  const shared = new WeakMap<Exchange, CelContext>();

  return (exchange, item, call) => {
    if (item === undefined) return ofRequest(exchange);
    let request = shared.get(exchange);
    if (request === undefined) shared.set(exchange, (request = ofRequest(exchange)));
    draw(exchange, contextUnits);
    return mcp ? { ...request, mcp: itemMap(item, call) } : request;
  };

  function ofRequest(exchange: Exchange): CelContext {
    const context: Record<string, Value> = {};
    draw(exchange, contextUnits);
    for (const { group, members } of groups) {
      const values = new Map<string, Value>();
      for (const [name, read] of members) {
        const value = read(exchange);
        if (value !== undefined) values.set(name, value);
      }
      context[group] = values;
    }
    if (claims && exchange.identity !== undefined) {
      const jwt = claimsOf(exchange.identity);
      context.jwt = jwt;
      context.auth = new Map([['claims', jwt]]);
    }
    if (apiKey && exchange.apiKey !== undefined) context.apiKey = metadataOf(exchange.apiKey);
    if (extAuthz && exchange.authorized !== undefined) context.extauthz = toCel(exchange.authorized);
    if (basicAuth && exchange.user !== undefined) context.basicAuth = new Map([['username', exchange.user]]);
    return context;
  }
}

function alternativeNames(exchange: Exchange): Value | undefined {
  const names = exchange.request.clientCertificate?.subjectAltNames;
  return names === undefined ? undefined : toCel([...names]);
}

/** The value of `mcp` for an item. */
export function itemMap({ kind, name, target }: McpItem, call: CallValues | undefined): Map<string, Value> {
  const members = new Map<string, Value>([
    ['name', name],
    ['target', target],
  ]);
  if (call === undefined) return new Map<string, Value>([[kind, members]]);
  if (kind === 'tool') members.set('arguments', call.arguments);
  return new Map<string, Value>([[kind, members], ...call.members]);
}

/** Does one of the programs look at the path? */
export const usesPath = (programs: readonly Program[]): boolean =>
  programs.some((program) =>
    ofPath.some((name) => program.uses(`request.${name}`) || program.variables.includes('request')),
  );

const ofPath = ['path', 'pathAndQuery', 'uri'] as const;

/** The same context, for another reading of the path. */
export function withPath(context: CelContext, exchange: Exchange, path: string): CelContext {
  const { scheme, authority, target } = exchange.request;
  const mark = target.indexOf('?');
  const pathAndQuery = mark < 0 ? path : path + target.slice(mark);
  const request = new Map(context.request as ReadonlyMap<string, Value>);
  request.set('path', path);
  request.set('pathAndQuery', pathAndQuery);
  request.set('uri', `${scheme}://${authority}${pathAndQuery}`);
  return { ...context, request: request as Value };
}

const kinds = ['tool', 'prompt', 'resource'] as const;

/** The same context, with empty names for the kinds that the item is not, and for the task of a call that has none. */
export function withEveryKind(context: CelContext, item: McpItem, call: CallValues | undefined): CelContext {
  const mcp = itemMap(item, call);
  for (const kind of kinds)
    if (kind !== item.kind) mcp.set(kind, kind === 'tool' && call !== undefined ? noTool : noItem);
  if (call !== undefined && !mcp.has('task')) mcp.set('task', noItem);
  return { ...context, mcp };
}

/** The same context, with nothing known of the item but that there is one. */
export const withUnknownItem = (context: CelContext, { kind }: McpItem): CelContext => ({
  ...context,
  mcp: new Map(context.mcp as ReadonlyMap<string, Value>).set(kind, unknownValue),
});

const noItem: Value = new Map([['name', ''] as const, ['target', ''] as const]);
/** The arguments of a tool say nothing about a prompt. */
const noTool: Value = new Map<string, Value>([
  ['name', ''],
  ['target', ''],
  ['arguments', unknownValue],
]);

/** Claims become CEL values once for each verified token, metadata once for each key. */
const converted = new WeakMap<object, Value>();

function convertedOnce(owner: object, data: unknown): Value {
  let value = converted.get(owner);
  if (value === undefined) {
    value = toCel(data);
    converted.set(owner, value);
  }
  return value;
}

const claimsOf = (identity: Identity): Value => convertedOnce(identity, identity.claims);
const metadataOf = (holder: ApiKeyHolder): Value => convertedOnce(holder, holder.metadata);

/** `response`, where an answer is judged. */
export function answerContext(answer: AnswerHead, exchange: Exchange): Value {
  const lines = answer.lines();
  const response = new Map<string, Value>([
    ['code', BigInt(answer.status)],
    ['headers', linesMap(lines, exchange)],
  ]);
  // An answer of gRPC without a message has its status in the head.
  const [, status = ''] = lines.find(([name]) => name === 'grpc-status') ?? [];
  if (/^\d{1,9}$/.test(status)) response.set('grpcStatus', BigInt(status));
  return response;
}

const headerMap = (exchange: Exchange): Value => linesMap(exchange.request.headerLines(), exchange);

/** Units of work of gathering the attributes for a run, and of one line of a head. */
const contextUnits = 30;
const lineUnits = 20;

/** A single line gives a string, several give a list. */
export function linesMap(lines: readonly HeaderLine[], exchange: Exchange): Value {
  draw(exchange, lineUnits * lines.length);
  const map = new Map<string, string | string[]>();
  for (const [name, value] of lines) {
    const known = map.get(name);
    if (known === undefined) map.set(name, value);
    else if (typeof known === 'string') map.set(name, [known, value]);
    else known.push(value);
  }
  return map;
}
