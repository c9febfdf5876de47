/** Requests of clients on their way through the audit stream: recorded first where the stream is required. */

import type { OperationDetails, OperationStart, RequestAudit } from '../contract.ts';
import { itemOf } from '../items/items.ts';
import { cut, memberOf, stringValue, type Envelope } from '../json/envelope.ts';
import { maxShown } from '../items/itemFilters.ts';
import { sendError } from '../messages/rpcError.ts';
import { PostAudit, type RecordedRequest } from '../session/postAudit.ts';
import type { ClientRequest } from './clientRequest.ts';
import type { Post } from './readPost.ts';
import { traceparentIn } from './tracedCall.ts';

/** Characters of arguments that the stream reads; it names longer ones by their size. */
const maxArguments = 65_536;

/** The operations of a POST: its requests. */
export function operationsOf({ messages }: Post, { showsArguments }: RequestAudit): OperationStart[] {
  const operations: OperationStart[] = [];
  for (const message of messages)
    if (message.kind === 'request') operations.push(operationOf(message, showsArguments));
  return operations;
}

/** Records an HTTP request that is an operation by itself, and runs it. */
export function recordedFirst(
  client: ClientRequest,
  operation: string,
  then: (client: ClientRequest) => void,
): void {
  const { audit } = client.caller;
  if (audit === undefined) then(client);
  else whenRecorded(client, audit, [{ operation, bytes: 0 }], undefined, then);
}

/**
 * Records operations, and runs `then` when they may begin. A request whose intents cannot be stored is refused with 503.
 * @param then may throw GatewayError
 */
export function whenRecorded(
  client: ClientRequest,
  audit: RequestAudit,
  operations: readonly OperationStart[],
  idText: string | undefined,
  then: (client: ClientRequest) => void,
): void {
  const { request, reply, caller } = client;
  const requests: RecordedRequest[] = [];
  const recorded = new PostAudit(requests);
  reply.onClose(() => recorded.closed());
  const run = (): void => {
    try {
      then({ request, reply, caller, audit: recorded });
    } catch (error) {
      sendError(reply, error, idText);
    }
  };
  try {
    for (const start of operations) {
      const record = audit.begin(start);
      if (record !== undefined)
        requests.push({ id: start.id, method: start.operation, record, note: undefined });
    }
    const { settled } = audit;
    if (settled === undefined) run();
    else
      settled.then(
        () => {
          // The request was not carried out, so a client that has left has lost nothing.
          if (!reply.closed) run();
        },
        (error: unknown) => sendError(reply, error, idText),
      );
  } catch (error) {
    sendError(reply, error, idText);
  }
}

function operationOf(message: Envelope, showsArguments: boolean): OperationStart {
  const { text, idSpan, method } = message;
  return {
    operation: method.slice(0, maxShown),
    id: cut(text, idSpan),
    bytes: Buffer.byteLength(text),
    details: () => ({
      item: subjectOf(message),
      arguments: showsArguments ? argumentsOf(message) : undefined,
      traceparent: traceparentIn(message),
    }),
  };
}

function subjectOf(message: Envelope): OperationDetails['item'] {
  const item = itemOf(message);
  if (typeof item === 'object') return item;
  if (!message.method.startsWith('tasks/')) return undefined;
  const place = memberOf(message.text, message.body, 'taskId');
  const name = typeof place === 'object' ? stringValue(message.text, place) : undefined;
  return name === undefined ? undefined : { kind: 'task', name };
}

const argumentMembers: ReadonlyMap<string, string> = new Map([
  ['tools/call', 'arguments'],
  ['prompts/get', 'arguments'],
  ['completion/complete', 'argument'],
]);

function argumentsOf({ method, text, body }: Envelope): string | undefined {
  const member = argumentMembers.get(method);
  const place = member === undefined ? undefined : memberOf(text, body, member);
  if (place === undefined) return undefined;
  if (place === 'ambiguous') return '"(ambiguous)"';
  const length = place.end - place.start;
  return length > maxArguments ? `"(too large: ${length} characters)"` : text.slice(place.start, place.end);
}
