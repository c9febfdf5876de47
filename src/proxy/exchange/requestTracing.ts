import type { CallSpan, TracedCall } from '../../http/index.ts';
import {
  compileRecord,
  compileSampling,
  type CompiledRecord,
  type ComputedFields,
  type Sampling,
} from '../../policies/index.ts';
import type { TracingSettings } from '../../model/index.ts';
import { hiddenBeginning, parseTraceparent, type TraceContext } from '../../telemetry/index.ts';
import {
  maxAttribute,
  type OpenSpan,
  type SpanAttributes,
  type SpanGroup,
  type Spans,
} from '../../tracing/index.ts';
import type { CompiledRule } from '../routing/router.ts';
import { computedFields } from './endedFields.ts';
import { withoutCredentials } from './accessRecords.ts';
import type { ExchangeTracing, LiveExchange } from './liveExchange.ts';
import type { RequestSpan } from './requestSpan.ts';

const methods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'CONNECT', 'OPTIONS', 'TRACE', 'PATCH']);

/** Decides which requests are traced, and makes their spans by the semantic conventions. */
export class RequestTracing implements ExchangeTracing {
  private readonly spans: Spans;
  private readonly random: Sampling;
  private readonly client: Sampling;
  /** No request is traced with a greater share. */
  private readonly most: number;
  private readonly record: CompiledRecord | undefined;
  private readonly removed: ReadonlySet<string>;
  /** The spans of requests that a filter has not judged yet; absent: there is no filter. */
  private readonly groups: WeakMap<LiveExchange, SpanGroup> | undefined;

  /** @throws Error for an expression that does not compile */
  constructor(spans: Spans, { randomSampling, clientSampling, add, remove = [], filter }: TracingSettings) {
    this.spans = spans;
    if (filter !== undefined) this.groups = new WeakMap();
    this.random = compileSampling(randomSampling, 'tracing.randomSampling');
    this.client = compileSampling(clientSampling, 'tracing.clientSampling');
    this.most = Math.max(this.random.most, this.client.most);
    if (add !== undefined || filter !== undefined)
      this.record = compileRecord(
        { ...(add && { add }), ...(filter !== undefined && { filter }) },
        'tracing',
      );
    this.removed = new Set(remove);
  }

  /** An added attribute or the filter reads the head of the response. */
  get readsResponse(): boolean {
    return this.record?.readsResponse === true;
  }

  /** A request begins: it gets a span where it is sampled. */
  begin(exchange: LiveExchange): void {
    if (exchange.trial !== undefined) return;
    const draw = Math.random();
    // At a small share, this spares most requests the reading of their traceparent.
    if (draw >= this.most) return;
    const parent = remoteOf(exchange);
    if (!this.samples(exchange, parent, draw)) return;
    exchange.span = { server: this.server(exchange, parent), upstream: undefined };
  }

  /** A request to a backend is about to be written, and carries the context of its span. */
  attempt(
    exchange: LiveExchange,
    { name, tls }: { readonly name: string; readonly tls: object | undefined },
  ): void {
    const { span } = exchange;
    if (span === undefined) return;
    span.upstream?.end('_OTHER');
    const { address, port } = placeOf(name);
    span.upstream = this.spans.begin({
      name: methodName(exchange.method),
      kind: 'client',
      parent: span.server.place,
      group: this.groupOf(exchange),
      attributes: this.shown({
        'http.request.method': methodOf(exchange.method),
        'http.request.method_original': originalOf(exchange.method),
        'server.address': address,
        'server.port': port,
        'url.full': `${tls === undefined ? 'http' : 'https'}://${name}${hidden(withoutCredentials(pathOf(exchange.forwardTarget), exchange))}`,
      }),
    });
    exchange.requestHeaders.set('traceparent', span.upstream.traceparent);
  }

  /**
   * A call of an MCP server begins. The context in `_meta` is the parent of its span, and the span of the HTTP request is
   * a link.
   */
  call(exchange: LiveExchange, call: TracedCall): CallSpan | undefined {
    const given = call.parent === undefined ? undefined : parseTraceparent(call.parent);
    if (given?.sampled === false) return undefined;
    const server = exchange.span?.server.place;
    if (server === undefined && (given === undefined || !this.samples(exchange, given, Math.random())))
      return undefined;
    const { method, item, target, id } = call;
    const span = this.spans.begin({
      name: callName(call),
      kind: 'client',
      parent: given === undefined ? server : { traceId: given.traceId, spanId: given.parentId },
      link: given === undefined ? undefined : server,
      group: this.groupOf(exchange),
      attributes: this.shown({
        'mcp.method.name': method,
        'jsonrpc.request.id': id,
        'portcullis.mcp.target': target,
        'gen_ai.tool.name': item?.kind === 'tool' ? item.name : undefined,
        'gen_ai.operation.name': item?.kind === 'tool' ? 'execute_tool' : undefined,
        'gen_ai.prompt.name': item?.kind === 'prompt' ? item.name : undefined,
        'mcp.resource.uri': item?.kind === 'resource' ? item.name : undefined,
      }),
    });
    return { traceparent: span.traceparent, end: (error) => span.end(error) };
  }

  /** The request is about to end. */
  end(exchange: LiveExchange): void {
    // The worker that serves the request has its span.
    if (exchange.relayed) return;
    const group = this.groups?.get(exchange);
    const { span } = exchange;
    if (span === undefined && group === undefined) return;
    const added = this.record && computedFields(exchange, this.record);
    if (span !== undefined) this.endSpans(exchange, span, added);
    group?.decide(added !== undefined);
  }

  private endSpans(
    exchange: LiveExchange,
    { server, upstream }: RequestSpan,
    added: ComputedFields | undefined,
  ): void {
    const { status, upstreamMs, error, cutBy } = exchange;
    const route = exchange.rule && patternOf(exchange.rule);
    if (upstream !== undefined) {
      if (upstreamMs !== undefined) upstream.set(this.shown({ 'http.response.status_code': status }));
      upstream.end(upstreamMs === undefined ? (error ?? '_OTHER') : (cutBy ?? failure(status, 400)));
    }
    server.set(
      this.shown({
        'http.response.status_code': status === 0 ? undefined : status,
        'http.route': route,
        'portcullis.route': exchange.route?.name,
        'portcullis.backend': exchange.backend,
        'portcullis.error': error,
        'portcullis.policy': exchange.decidedBy?.policy,
        'mcp.method.name': hiddenText(textOf(exchange.extra?.['mcp.method'])),
      }),
    );
    // A policy has read a credential out of the path since the span began.
    if (exchange.pathCredentials !== undefined)
      server.set(this.shown({ 'url.path': hidden(withoutCredentials(exchange.path, exchange)) }));
    if (route !== undefined) server.rename(`${methodName(exchange.method)} ${route}`);
    if (added !== undefined) server.set(attributesOf(added));
    server.end(status === 0 ? (error ?? 'client_left') : (cutBy ?? failure(status, 500)));
  }

  /** @param draw from 0 to below 1, at random */
  private samples(exchange: LiveExchange, parent: TraceContext | undefined, draw: number): boolean {
    if (parent?.sampled === false) return false;
    const { shareOf } = parent === undefined ? this.random : this.client;
    return draw < shareOf(exchange);
  }

  private server(exchange: LiveExchange, parent: TraceContext | undefined): OpenSpan {
    const { method, scheme, host, localPort, remoteAddress, path, version } = exchange;
    return this.spans.begin({
      name: methodName(method),
      kind: 'server',
      parent: parent && { traceId: parent.traceId, spanId: parent.parentId },
      group: this.groupOf(exchange),
      startedAt: exchange.startedAt,
      attributes: this.shown({
        'http.request.method': methodOf(method),
        'http.request.method_original': originalOf(method),
        'url.scheme': scheme,
        'url.path': hidden(path),
        'server.address': host,
        'server.port': localPort,
        'client.address': remoteAddress,
        'network.protocol.version': version === 'HTTP/2.0' ? '2' : version.slice(5),
        'user_agent.original': hiddenText(exchange.header('user-agent')),
      }),
    });
  }

  private groupOf(exchange: LiveExchange): SpanGroup | undefined {
    const { groups } = this;
    if (groups === undefined) return undefined;
    const known = groups.get(exchange);
    if (known !== undefined) return known;
    const group = this.spans.group();
    groups.set(exchange, group);
    return group;
  }

  private shown(attributes: SpanAttributes): SpanAttributes {
    if (this.removed.size === 0) return attributes;
    return Object.fromEntries(Object.entries(attributes).filter(([name]) => !this.removed.has(name)));
  }
}

const attributesOf = (fields: ComputedFields): SpanAttributes =>
  Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [
      name,
      typeof value === 'object' ? JSON.stringify(value) : value,
    ]),
  );

/** The path of a match as `http.route`: it must not differ between requests of the match. */
const patternOf = ({ kind, written }: Pick<CompiledRule<unknown>, 'kind' | 'written'>): string =>
  kind === 'prefix' ? `${written.replace(/\/$/, '')}/*` : written;

/** A query may carry secrets. */
const pathOf = (target: string): string => target.split('?', 1)[0] ?? '';

/** A span shows no more of a text, so the search for secrets reads little more. */
const hidden = (text: string): string => hiddenBeginning(text, maxAttribute);

const hiddenText = (text: string | undefined): string | undefined => text && hidden(text);

/** Methods that a client makes up, and addresses of resources, are no names of spans: there could be any number. */
const callName = ({ method, isKnown, item }: TracedCall): string => {
  if (!isKnown) return 'MCP';
  return item === undefined || item.kind === 'resource' ? method : `${method} ${item.name}`;
};

const textOf = (value: string | number | undefined): string | undefined =>
  value === undefined ? undefined : String(value);

const remoteOf = (exchange: LiveExchange) => {
  const header = exchange.head.get('traceparent');
  return header === undefined ? undefined : parseTraceparent(header);
};

/** Methods of clients are no names of spans: there could be any number of them. */
const methodName = (method: string): string => (methods.has(method) ? method : 'HTTP');

const methodOf = (method: string): string => (methods.has(method) ? method : '_OTHER');
const originalOf = (method: string): string | undefined => (methods.has(method) ? undefined : method);

function placeOf(backend: string): { readonly address: string; readonly port: number | undefined } {
  const colon = backend.lastIndexOf(':');
  const port = Number(backend.slice(colon + 1));
  return colon < 0 || !Number.isInteger(port)
    ? { address: backend, port: undefined }
    : { address: backend.slice(0, colon), port };
}

const failure = (status: number, from: number): string | undefined =>
  status >= from ? String(status) : undefined;
