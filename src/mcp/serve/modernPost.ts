/** A POST of the modern era (MCP 2026-07-28, "Streamable HTTP"): each request stands alone. */

import { GatewayError } from '../../errors.ts';
import type { HttpRequest } from '../../http/index.ts';
import type { ItemRefusal } from '../contract.ts';
import { noteItemRefusal, refusalError } from '../items/itemRefusal.ts';
import { ItemRules } from '../items/itemRules.ts';
import { unknownItemError } from '../items/itemFilters.ts';
import { itemOf } from '../items/items.ts';
import { namingOf } from '../items/naming.ts';
import { cut, memberOf, stringValue, type Envelope } from '../json/envelope.ts';
import { holderOf } from '../limits/budgets.ts';
import type { Accepted } from '../messages/accept.ts';
import { modernVersion } from '../messages/eras.ts';
import { legacyRequests } from '../messages/mcpMethods.ts';
import { errorResponse, sendError } from '../messages/rpcError.ts';
import { askingForTask } from '../modern/createdTask.ts';
import { discoverResult } from '../modern/discover.ts';
import type { HeldSession, ServerAnswer } from '../modern/heldSession.ts';
import { keyOf } from '../modern/heldSessions.ts';
import { invalidState, ModernAnswer, requestOf, type Round } from '../modern/modernAnswer.ts';
import { hasTasks, inputResponses, tasksCapability } from '../modern/questions.ts';
import { headerMismatch } from '../modern/requestHeaders.ts';
import { claimsModern, readRequestMeta, type RequestMeta } from '../messages/requestMeta.ts';
import { claimedVersion, unsupportedVersion } from './acceptance.ts';
import { checkCalls, type ClientRequest, type HandlerOptions } from './clientRequest.ts';
import { itemCallOf } from './itemCall.ts';
import { ask, send, whenReady, type ModernRequest } from './modernRequest.ts';
import { needsTask, taskedCall } from './taskedCall.ts';
import { listenForNews } from './newsRequest.ts';
import type { Post } from './readPost.ts';

/** Is the POST one of the modern era? The body says so; where it does not, the header does. */
export function isModern({ request }: Pick<ClientRequest, 'request'>, { messages }: Post): boolean {
  return messages.some(claimsModern) || claimedVersion(request) === modernVersion;
}

/** The message of a POST of the modern era. @throws GatewayError for a batch, and for a response */
export function modernMessage({ batch, first }: Post): Envelope {
  const message = first!;
  if (!batch && message.kind !== 'response') return message;
  const what = batch ? 'batches' : 'responses of clients';
  throw new GatewayError('mcp_invalid_request', {
    message: `invalid request: revision ${modernVersion} has no ${what}`,
  });
}

/**
 * Serves one POST.
 * @throws GatewayError
 */
export function serveModern(
  options: HandlerOptions,
  client: ClientRequest,
  accepted: Accepted,
  post: Post,
): void {
  const { request, reply, caller } = client;
  const message = modernMessage(post);
  request.annotate('mcp.method', message.method.slice(0, 128));
  // No notification of a client means anything here: closing a stream takes its request back.
  if (message.kind === 'notification') {
    reply.send({ status: 202 });
    return;
  }
  const meta = modernMeta(request, message);
  const { settings } = options;
  const itemRules = ItemRules.of(caller, namingOf(settings).view);
  const modern = { options, client, accepted, message, meta, itemRules };
  // A call that goes on counts already: its next round needs no room.
  if (continuesParked(modern)) return;
  checkCalls(options, caller, 1);
  const { listed } = options.held;
  const mismatch = listed.mismatch(() => keyOf(settings, caller, meta), request, message);
  if (mismatch !== undefined) throw headerMismatchError(mismatch);
  const { held, release } = options.held.use(settings, caller, meta);
  request.annotate('mcp.session', held.session.label);
  if (message.method === 'subscriptions/listen') listenForNews(modern, held, release);
  else answerOf(modern, held, release);
}

/** The meta of a request. @throws GatewayError for meta that is missing, malformed, or not that of the headers */
export function modernMeta(request: HttpRequest, message: Envelope): RequestMeta {
  const meta = readRequestMeta(message);
  if (typeof meta === 'string')
    throw new GatewayError('mcp_meta_invalid', { message: `invalid params: ${meta}` });
  const claimed = claimedVersion(request);
  if (meta.version !== modernVersion && (claimed === undefined || claimed === meta.version))
    throw unsupportedVersion([modernVersion], meta.version);
  const mismatch = headerMismatch(request, message, meta, claimed);
  if (mismatch !== undefined) throw headerMismatchError(mismatch);
  return meta;
}

const headerMismatchError = (what: string): GatewayError =>
  new GatewayError('mcp_header_mismatch', { message: `header mismatch: ${what}` });

/** The next round of a call that waits for answers of its client? Then it goes on. */
function continuesParked(modern: ModernRequest): boolean {
  const { options, client, message, itemRules } = modern;
  const place = memberOf(message.text, message.body, 'requestState');
  const state = place === 'ambiguous' ? undefined : stringValue(message.text, place);
  if (state === undefined) return false;
  const about = { principal: client.caller.principal, backend: options.settings.key };
  const found = options.held.parked.take(state, () => requestOf(about, message));
  // A state of a modern server, which judges it.
  if (found === 'foreign') return false;
  const round = roundOf(modern);
  if (found === 'invalid') {
    client.request.annotate('mcp.outcome', 'refused');
    client.request.annotate('mcp.refusal', 'request state');
    client.reply.send({
      status: 200,
      headers: [['content-type', 'application/json']],
      body: invalidState(cut(message.text, message.idSpan)),
    });
  } else {
    // The client may have refreshed its token meanwhile, and the target gets the answers with the new one.
    found.session.attachCaller(client.caller, namingOf(options.settings));
    const refused = found.next(
      round,
      inputResponses(message),
      itemRules,
      itemCallOf(client.request, message, options.settings),
    );
    if (refused !== undefined) refuseHidden(modern, refused);
  }
  return true;
}

function refuseHidden({ client, message }: ModernRequest, refused: ItemRefusal): void {
  const item = itemOf(message);
  const hidden = typeof item === 'object' ? unknownItemError(item) : new GatewayError('mcp_unknown_tool');
  const error = refusalError(hidden, refused);
  noteItemRefusal(client.request, refused);
  sendError(client.reply, error, cut(message.text, message.idSpan));
}

const roundOf = ({ client, accepted, message }: ModernRequest): Round => ({
  reply: client.reply,
  accepted,
  request: message,
  audit: client.audit,
});

function answerOf(modern: ModernRequest, held: HeldSession, release: () => void): void {
  const { options, client, message, meta, itemRules } = modern;
  const { settings } = options;
  const naming = namingOf(settings);
  const isTasked = needsTask(modern);
  const answer: ModernAnswer = new ModernAnswer(
    {
      session: held.session,
      parked: options.held.parked,
      principal: client.caller.principal,
      holder: holderOf(client.caller),
      backend: settings.key,
      meta,
      itemRules,
      isPrivate: itemRules !== undefined || naming.federated,
      tasked: isTasked ? taskedCall(modern, held, () => answer) : undefined,
      onOver: release,
      onResponse: (text) => {
        if (message.method !== 'tools/list') return;
        options.held.listed.learn(() => keyOf(settings, client.caller, meta), text);
      },
    },
    roundOf(modern),
  );
  held.session.streams.expect(answer);
  whenReady(held, answer, cut(message.text, message.idSpan), (servers) => {
    if (message.method === 'server/discover') answer.respond(resultText(message, discoverResult(servers)));
    else if (legacyRequests.has(message.method))
      answer.respond(
        errorResponse(new GatewayError('mcp_unknown_method'), cut(message.text, message.idSpan)),
      );
    else if (
      message.method.startsWith('tasks/') &&
      hasTasks(servers.capabilities) &&
      !hasTasks(meta.capabilities)
    ) {
      const error = new GatewayError('mcp_capability_missing');
      const data = { requiredCapabilities: tasksCapability };
      answer.respond(errorResponse(error, cut(message.text, message.idSpan), data));
    } else {
      tellLevel(modern, held, servers);
      send(modern, held, answer, isTasked ? askingForTask(message) : message);
    }
  });
}

/** Servers of the legacy era have one level for a session; those of the modern one read it from each request. */
function tellLevel(modern: ModernRequest, held: HeldSession, { capabilities }: ServerAnswer): void {
  const { logLevel } = modern.meta;
  if (logLevel === undefined || logLevel === held.logLevel) return;
  if (memberOf(capabilities, { start: 0, end: capabilities.length }, 'logging') === undefined) return;
  held.logLevel = logLevel;
  ask(modern, held, 'logging/setLevel', { level: logLevel }, () => undefined);
}

const resultText = ({ text, idSpan }: Envelope, result: string): string =>
  `{"jsonrpc":"2.0","id":${cut(text, idSpan)},"result":${result}}`;
