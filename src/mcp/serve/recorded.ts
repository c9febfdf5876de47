/** Requests of clients on their way through the audit stream: recorded first where the stream is required. */

import type { OperationDetails, OperationStart, RequestAudit } from '../contract.ts';
import { itemOf } from '../items/items.ts';
import { cut, memberOf, stringValue, type Envelope } from '../json/envelope.ts';
import { maxShown } from '../items/itemFilters.ts';
import { sendError } from '../messages/rpcError.ts';
import { PostAudit } from '../session/postAudit.ts';
import type { ClientRequest } from './clientRequest.ts';
import type { Post } from './readPost.ts';
import { traceparentIn } from './tracedCall.ts';

/** Characters of arguments that the stream reads; it names longer ones by their size. */
const maxArguments = 65_536;

/**
 * Records an HTTP request that is an operation by itself, and runs `then` when it may begin. A request whose intent cannot
 * be stored is refused with 503.
 * @param then may throw GatewayError
 */
export function recordedFirst(
  client: ClientRequest,
  operation: string,
  then: (client: ClientRequest) => void,
): void {
  const { audit } = client.caller;
  if (audit === undefined) {
    then(client);
    return;
  }
  const recorded = new PostAudit(audit);
  try {
    recorded.begin({ operation, size: 0 }, undefined);
    whenSettled(client, audit, recorded, undefined, then);
  } catch (error) {
    sendError(client.reply, error);
  }
}

/** The same for the requests of a POST. */
export function recordedPost(
  client: ClientRequest,
  audit: RequestAudit,
  { messages, idText }: Post,
  then: (client: ClientRequest) => void,
): void {
  const recorded = new PostAudit(audit);
  try {
    const { showsArguments } = audit;
    // The text of a message of a batch is a part of the text of the batch.
    const size = messages.reduce((sum, { text }) => sum + text.length, 0);
    for (const message of messages)
      if (message.kind === 'request')
        recorded.begin(new MessageOperation(message, size, showsArguments), message);
    whenSettled(client, audit, recorded, idText, then);
  } catch (error) {
    sendError(client.reply, error, idText);
  }
}

function whenSettled(
  { request, reply, caller }: ClientRequest,
  { settled }: RequestAudit,
  audit: PostAudit,
  idText: string | undefined,
  then: (client: ClientRequest) => void,
): void {
  if (settled === undefined) {
    then({ request, reply, caller, audit });
    return;
  }
  settled
    .then(() => {
      // The request was not carried out, so a client that has left has lost nothing.
      if (!reply.closed) then({ request, reply, caller, audit });
    })
    .catch((error: unknown) => sendError(reply, error, idText));
}

/** A request of a client, which is read when the stream asks. */
class MessageOperation implements OperationStart {
  readonly size: number;
  private readonly message: Envelope;
  private readonly showsArguments: boolean;

  constructor(message: Envelope, size: number, showsArguments: boolean) {
    this.message = message;
    this.size = size;
    this.showsArguments = showsArguments;
  }

  get operation(): string {
    return this.message.method.slice(0, maxShown);
  }

  read(): OperationDetails {
    const { message } = this;
    const { text, idSpan } = message;
    return {
      id: cut(text, idSpan),
      bytes: Buffer.byteLength(text),
      item: subjectOf(message),
      arguments: this.showsArguments ? argumentsOf(message) : undefined,
      traceparent: traceparentIn(message),
    };
  }
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
