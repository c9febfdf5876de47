import type { GatewayError } from '../../../errors.ts';
import type { HeaderLine } from '../../../http/index.ts';
import type { Limits } from '../../../model/index.ts';
import { ThrottledLog, type Logger } from '../../../telemetry/index.ts';
import { memberOf, stringValue, type Envelope } from '../../json/envelope.ts';
import { withEditedResult } from '../../json/objectMembers.ts';
import { ownError, ownNotification, ownQuestion } from '../../json/ownMessage.ts';
import type { RetainedMemory } from '../../limits/retainedMemory.ts';
import type { Outgoing } from '../../messages/outgoing.ts';
import type { MessageOrigin, RequestWithLines, TargetConnection, Waiter } from '../kind/target.ts';
import { BridgedCall, type BridgeHost } from './bridgedCall.ts';
import { metaOf, type ClientFacts } from './clientFacts.ts';
import { HeldCalls } from './heldCalls.ts';
import type { InputQuestion } from './inputQuestions.ts';
import { nameHeader } from './nameHeader.ts';
import { decodedValue } from '../../messages/mirroredHeaders.ts';
import { ParameterHeaders } from '../../messages/parameterHeaders.ts';
import { modernEdits, withEdits } from '../../messages/eraEdits.ts';
import { ToolListing } from './toolListing.ts';

export interface BridgeStart {
  readonly server: TargetConnection;
  /** The server is reached over HTTP. */
  readonly overHttp: boolean;
  /** The client is of the legacy era. */
  readonly bridges: boolean;
  /** The level of log messages that the client has set. */
  readonly logLevel: () => string | undefined;
  readonly keep: RetainedMemory;
  readonly limits: () => Limits;
  readonly log: Logger;
  /** A message for the session. */
  readonly tell: (message: Envelope, origin?: MessageOrigin) => void;
}

/** The requests of a session to a server of the modern era, and the questions of the server to a legacy client. */
export class Bridge implements BridgeHost {
  readonly name: string;
  client: ClientFacts = { info: undefined, capabilities: '{}' };
  readonly relearn: BridgeHost['relearn'];
  readonly held: HeldCalls;
  private readonly start: BridgeStart;
  private readonly parameters = new ParameterHeaders();
  private readonly listing: ToolListing;
  /** The tools were listed for the lines of a request that checks had changed. */
  private hasListed = false;
  private readonly faults: ThrottledLog;

  constructor(start: BridgeStart) {
    const { server, overHttp, keep, limits, log } = start;
    this.name = server.name;
    this.start = start;
    this.held = new HeldCalls(server.name, keep, () => limits().maxMcpCallTimeMs);
    this.faults = new ThrottledLog(log, 'Target broke a rule of revision 2026-07-28');
    this.listing = new ToolListing(
      (request, waiter) => this.list(request, waiter),
      () => this.meta,
    );
    this.relearn = overHttp ? (then) => this.listing.read(then) : undefined;
  }

  /** Members of `_meta` of each request, as JSON text. */
  get meta(): string {
    return metaOf(this.client, this.start.logLevel());
  }

  /** @returns the id on the wire, 0 where the request failed at once */
  call(out: Outgoing, waiter: Waiter): number {
    if (this.start.bridges) return new BridgedCall(this, withEdits(out), this.meta, waiter).begin();
    const own = withEdits(out);
    const edits = modernEdits(own.envelope, this.meta);
    if (edits !== undefined) return this.pass({ ...own, edits }, waiter);
    waiter.answered(ownError(-32602, 'invalid params: a member is repeated, or _meta is no object'));
    return 0;
  }

  /** Sends a request of a client of the modern era, as it is. */
  pass(out: Outgoing, waiter: Waiter): number {
    const headers = this.start.overHttp ? [...nameHeader(out), ...(out.headers ?? [])] : [];
    return this.start.server.call({ ...out, headers }, waiter);
  }

  /** The waiter of the session behind one of the server's. */
  static clientOf(waiter: Waiter | undefined): Waiter | undefined {
    return waiter instanceof BridgedCall ? waiter.client : waiter;
  }

  /** `Mcp-Param-*` lines of a client of the modern era, made anew for a request that checks have changed. */
  async parameterLines(
    changed: Envelope,
    { request, lines }: RequestWithLines,
  ): Promise<readonly HeaderLine[]> {
    const { overHttp, bridges } = this.start;
    if (!overHttp || bridges || changed.method !== 'tools/call') return [];
    // The client may know a newer list than the gateway.
    if (!this.hasListed || !areAlike(lines, this.parametersOf(request)))
      await new Promise<void>((resolve) => this.listing.read(resolve));
    this.hasListed = true;
    return this.parametersOf(changed);
  }

  private list(envelope: Envelope, waiter: Waiter): void {
    const limit = { ms: this.start.limits().mcpCallTimeoutMs };
    const learning: Waiter = {
      answered: (response) => {
        if (!response.isError) this.learn(response);
        waiter.answered(response);
      },
      failed: (error: GatewayError) => waiter.failed(error),
    };
    this.start.server.call({ envelope, token: undefined, edits: [], limit }, learning);
  }

  // BridgeHost

  post(out: Outgoing, waiter: Waiter): number {
    return this.start.server.call(out, waiter);
  }

  headersOf(out: Outgoing): readonly HeaderLine[] {
    if (!this.start.overHttp) return [];
    return [...nameHeader(out), ...this.parametersOf(out.envelope)];
  }

  private parametersOf(envelope: Envelope): readonly HeaderLine[] {
    if (envelope.method !== 'tools/call') return [];
    const place = memberOf(envelope.text, envelope.body, 'name');
    const tool = place === 'ambiguous' ? undefined : stringValue(envelope.text, place);
    return tool === undefined ? [] : this.parameters.of(tool, envelope);
  }

  learn(response: Envelope): Envelope {
    if (!this.start.overHttp) return response;
    const { wrong, edits } = this.parameters.learn(response);
    for (const tool of wrong)
      this.trouble(`lists the tool ${tool.slice(0, 128)} with an x-mcp-header that breaks the rules`);
    return withEditedResult(response, edits);
  }

  park(call: BridgedCall): boolean {
    return this.held.add(call);
  }

  mayKeep(call: BridgedCall, length: number): boolean {
    return this.held.mayKeep(call, length);
  }

  unpark(call: BridgedCall): void {
    this.held.remove(call);
  }

  ask(call: BridgedCall, { key, method, params }: InputQuestion): void {
    this.start.tell(ownQuestion(this.held.ask(call, key), method, params), call.client);
  }

  withdraw(call: BridgedCall): void {
    for (const id of this.held.withdraw(call)) {
      const params = JSON.stringify({ requestId: id, reason: 'the call is over' });
      this.start.tell(ownNotification('notifications/cancelled', params), call.client);
    }
  }

  trouble(what: string): void {
    this.faults.warn({ reason: what });
  }
}

/** Do the lines say the same, in whatever order and encoding? */
const areAlike = (some: readonly HeaderLine[], others: readonly HeaderLine[]): boolean =>
  said(some) === said(others);

const said = (lines: readonly HeaderLine[]): string =>
  JSON.stringify(
    lines.map(([name, value]) => `${name.toLowerCase()}: ${decodedValue(value) ?? value}`).toSorted(),
  );
