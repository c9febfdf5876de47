import { GatewayError } from '../../errors.ts';
import type { Logger } from '../../telemetry/index.ts';
import type { ItemNameSource } from '../items/itemVisibility.ts';
import type { Naming } from '../items/naming.ts';
import { uriEdits } from '../items/resourceUris.ts';
import { cut, edited, memberOf, stringValue, type Envelope, type RpcId } from '../json/envelope.ts';
import { parsedId } from '../json/parsed.ts';
import { splice, type Edit } from '../json/scan.ts';
import type { Era } from '../messages/eras.ts';
import { serverNotifications, taskNews } from '../messages/mcpMethods.ts';
import { errorResponse } from '../messages/rpcError.ts';
import type { MessageOrigin, TargetConnection } from '../targets/kind/target.ts';
import { Call } from './call.ts';
import type { CallAnswer } from './callAnswer.ts';
import type { ClientStreams } from './clientStreams.ts';
import { serverToken, TaskTokens } from './progressTokens.ts';
import { idWithServerId, readServerId, ServerRequests, type ServerRequest } from './serverRequests.ts';
import type { SessionFederation } from './sessionFederation.ts';
import type { SessionTargets } from './sessionTargets.ts';
import { taskList } from './taskIds.ts';
import type { KnownTask } from './taskRegistry.ts';

/** The parts of a session that its messages need. */
export interface MessageContext {
  /** The era of the client. */
  readonly era: Era;
  readonly targets: SessionTargets;
  readonly streams: ClientStreams;
  /** Set where the session has several targets, or had them once. */
  readonly federation: SessionFederation | undefined;
  readonly log: Logger;
  /** Requests of the client that no target has at the moment: they wait for a policy or a list. */
  readonly unsent: ReadonlySet<{ readonly id: RpcId; cancel(): void }>;
  /** The client can answer requests of servers. */
  readonly takesRequests: boolean;
  /** Its id says what it takes to go on with it. */
  readonly carried: boolean;
  /** Other processes may hold it as well. */
  readonly shared: boolean;
  /** The view of the newest request. */
  readonly itemView: Naming['view'];
}

/** The server and the id of a request, for its answer. */
export type AskedBy = Pick<ServerRequest, 'target' | 'generation' | 'idText' | 'listsTasks'>;

const isListChanged = (method: string): boolean => method.endsWith('/list_changed');

/** Sends messages that servers begin to the one stream of the client that each belongs on. */
export class ServerMessages {
  private readonly context: MessageContext;
  private readonly asked: ServerRequests;
  private readonly taskTokens = new TaskTokens();

  /** @param before ids up to this one are not used */
  constructor(context: MessageContext, before: number) {
    this.context = context;
    this.asked = new ServerRequests(before);
  }

  onMessage(target: TargetConnection, said: Envelope, origin: MessageOrigin): void {
    const { targets, streams, log, federation } = this.context;
    const own = origin instanceof Call ? origin.answer : undefined;
    const tasks = targets.tasksOf(target);
    const told = tasks.fromServer(said, targets.readerOf(target));
    if (told === undefined) {
      if (tasks.holdEarly(said, (news) => this.onMessage(target, news, origin))) return;
      log.debug('Message dropped: the task belongs to another caller', { method: said.method });
      if (said.kind === 'request') refuseServer(target, said, new GatewayError('mcp_unknown_task'));
      return;
    }
    const message = edited(said, told.edits);
    // The client of several servers is one to each of them, and its tasks hold what it told one of them.
    if (message.kind === 'request' && federation !== undefined && tasks.asksForOther(message))
      refuseServer(target, message, new GatewayError('mcp_unknown_task'));
    else if (message.kind === 'request') this.ask(target, message, origin, own);
    else if (message.method === 'notifications/resources/updated') this.updated(target, message, own);
    else if (message.method === 'notifications/progress') this.progress(target, message);
    else if (message.method === 'notifications/cancelled') this.withdrawn(target, message);
    else {
      const isLog = message.method === 'notifications/message' && origin !== 'aside';
      if (isListChanged(message.method)) federation?.onListChanged(target, message.method);
      // Messages that MCP does not know may name an item: they are not for a reader under rules.
      const names = serverNotifications.has(message.method)
        ? this.namesOf(told.task, target, message)
        : () => undefined;
      // The news of a task may have the result of its call.
      const edits = message.method === taskNews ? this.uriEdits(target, message) : [];
      streams.deliver(splice(message.text, edits), isLog ? 'log' : 'other', undefined, own, names);
    }
  }

  /** A request of a server, under an id of the gateway. */
  private ask(
    target: TargetConnection,
    message: Envelope,
    origin: MessageOrigin,
    own: CallAnswer | undefined,
  ): void {
    const { streams, era, takesRequests, carried, shared } = this.context;
    // The client of such a session is the gateway, whether or not anyone waits for it now.
    if (message.method === 'ping' && (era === 'modern' || !takesRequests)) {
      target.send(`{"jsonrpc":"2.0","id":${cut(message.text, message.idSpan)},"result":{}}`);
      return;
    }
    if (!takesRequests) {
      const error = new GatewayError('mcp_client_busy', { message: 'the client has no session' });
      refuseServer(target, message, error);
      return;
    }
    const { text, idSpan } = this.requestForClient(target, message);
    const { name, generation } = target;
    const listsTasks = message.method === taskList;
    const asked = { target: name, generation, idText: cut(text, idSpan), id: message.id!, listsTasks };
    const askedId = this.asked.add(asked, { embedsServerId: carried, dropsOldest: shared });
    this.hold(target);
    if (askedId === undefined) {
      refuseServer(target, message, new GatewayError('mcp_client_busy'));
      return;
    }
    const forClient = splice(text, [{ ...idSpan, replacement: JSON.stringify(askedId) }]);
    // A message beside all calls is no part of one of them.
    streams.deliver(forClient, origin === 'aside' ? 'other' : 'request', askedId, own);
  }

  /** A request of a server, with the URIs of the client, and with a progress token that tells the server. */
  private requestForClient(target: TargetConnection, message: Envelope): Envelope {
    if (this.context.federation === undefined) return message;
    const { text, body } = message;
    const meta = memberOf(text, body, '_meta');
    const token = meta === 'ambiguous' ? undefined : memberOf(text, meta, 'progressToken');
    const edits = [
      ...this.uriEdits(target, message),
      ...(typeof token === 'object'
        ? [{ ...token, replacement: serverToken(target.name, cut(text, token)) }]
        : []),
    ];
    return edited(message, edits);
  }

  /** The edits that put the URIs of the client in. */
  private uriEdits(target: TargetConnection, { text, body }: Envelope): readonly Edit[] {
    const { federation, targets } = this.context;
    if (federation === undefined) return [];
    return uriEdits(text, body, (uri) => federation.naming.shownUri(targets.nameOf(target), uri));
  }

  /** A task is as hidden as the item that made it. */
  private namesOf(
    task: KnownTask | undefined,
    target: TargetConnection,
    { text, body }: Envelope,
  ): ItemNameSource | undefined {
    if (task === undefined) return undefined;
    const { item } = task;
    // Rules judge contents in responses only, so a reader under rules has to ask for the result of a read.
    if (item?.kind === 'resource' && memberOf(text, body, 'result') !== undefined) return () => undefined;
    return () => (item === undefined ? undefined : { ...item, target: this.context.targets.nameOf(target) });
  }

  /** News of a resource goes where the reader may know of the resource. */
  private updated(target: TargetConnection, message: Envelope, own: CallAnswer | undefined): void {
    const { itemView, targets, federation, streams } = this.context;
    const name = targets.nameOf(target);
    const place = memberOf(message.text, message.body, 'uri');
    const uri = place === 'ambiguous' ? undefined : stringValue(message.text, place);
    if (uri !== undefined && itemView?.hides('resource', name, uri) === true) return;
    const names: ItemNameSource = () =>
      uri === undefined ? undefined : { kind: 'resource', target: targets.nameOf(target), name: uri };
    const shown = uri === undefined ? undefined : federation?.naming.shownUri(name, uri);
    const text =
      shown === undefined || shown === uri || typeof place !== 'object'
        ? message.text
        : splice(message.text, [{ ...place, replacement: JSON.stringify(shown) }]);
    streams.deliver(text, 'other', undefined, own, names);
  }

  /** Progress goes on the stream of the call it is about, under the client's token. */
  private progress(target: TargetConnection, message: Envelope): void {
    const { streams } = this.context;
    const place = memberOf(message.text, message.body, 'progressToken');
    if (place === undefined || place === 'ambiguous') return;
    const token = Number(message.text.slice(place.start, place.end));
    const call = target.pending(token);
    if (call instanceof Call && call.tokenText !== undefined) {
      target.progressed(token);
      const text = splice(message.text, [{ ...place, replacement: call.tokenText }]);
      if (call.answer.takesProgress) call.answer.push(text);
      else streams.deliver(text, 'other');
      return;
    }
    const ofTask = this.taskTokens.get(target, token);
    if (ofTask !== undefined)
      streams.deliver(splice(message.text, [{ ...place, replacement: ofTask }]), 'other');
  }

  /** The token of a call that may make a task. */
  rememberTask(target: TargetConnection, wireId: number, tokenText: string): void {
    this.taskTokens.remember(target, wireId, tokenText);
  }

  /** A server takes a request of its own back. */
  private withdrawn(target: TargetConnection, message: Envelope): void {
    const place = memberOf(message.text, message.body, 'requestId');
    if (place === undefined || place === 'ambiguous') return;
    const idText = cut(message.text, place);
    const id = parsedId(idText);
    const { generation } = target;
    const askedId =
      (id === undefined ? undefined : this.asked.withdraw(target.name, id)) ??
      // It may have been asked by way of another process.
      (this.context.shared ? idWithServerId({ generation, idText }) : undefined);
    if (askedId === undefined) return;
    this.hold(target);
    const replacement = JSON.stringify(askedId);
    this.context.streams.withdraw(askedId, splice(message.text, [{ ...place, replacement }]));
  }

  /** A server ended: nobody waits for the answers to its requests. */
  onDown(target: TargetConnection): void {
    target.hold(false);
    for (const askedId of this.asked.withdrawAll(target.name))
      this.context.streams.withdraw(
        askedId,
        `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":${JSON.stringify(askedId)},"reason":"the server ended"}}`,
      );
  }

  /** The request that a client's response answers; undefined where none waits. */
  answered(id: RpcId): AskedBy | undefined {
    const asked = this.asked.take(id) ?? this.askedElsewhere(id);
    const target = asked && this.context.targets.get(asked.target);
    if (target !== undefined) this.hold(target);
    return asked;
  }

  /** The request of a server by way of another process, as the id of the answer tells it. */
  private askedElsewhere(id: RpcId): AskedBy | undefined {
    const told = this.context.shared ? readServerId(id) : undefined;
    const { first } = this.context.targets;
    return told === undefined || first === undefined ? undefined : { target: first.name, ...told };
  }

  /** Answers a server in the place of a client that cannot be reached. */
  refuse(askedId: RpcId, why: string): void {
    const asked = this.asked.take(askedId);
    const target = asked && this.context.targets.get(asked.target);
    if (asked === undefined || target === undefined) return;
    this.hold(target);
    target.send(errorResponse(new GatewayError('mcp_client_busy', { message: why }), asked.idText));
  }

  /** The time of a target's calls stands still while the client has a question of it. */
  private hold(target: TargetConnection): void {
    target.hold(this.asked.asks(target.name));
  }
}

/** Answers a request of a server that the client never sees. */
function refuseServer(target: TargetConnection, { text, idSpan }: Envelope, error: GatewayError): void {
  target.send(errorResponse(error, cut(text, idSpan)));
}
