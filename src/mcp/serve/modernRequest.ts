import { asGatewayError } from '../../errors.ts';
import type { ItemRules } from '../items/itemRules.ts';
import type { Envelope } from '../json/envelope.ts';
import { ownMessage, readOwn } from '../json/ownMessage.ts';
import type { Accepted } from '../messages/accept.ts';
import { respondError } from '../session/callAnswer.ts';
import type { HeldSession, ServerAnswer } from '../modern/heldSession.ts';
import { OwnAnswer } from '../modern/ownAnswer.ts';
import { paramHeaders } from '../modern/requestHeaders.ts';
import type { RequestMeta } from '../messages/requestMeta.ts';
import type { CallAnswer } from '../session/callAnswer.ts';
import type { ClientRequest, HandlerOptions } from './clientRequest.ts';
import { notesOfOwn } from './messageNotes.ts';
import { dispatchFor } from './deliver.ts';
import { prepareMessage } from './dispatch.ts';

/** A request of the modern era on its way. */
export interface ModernRequest {
  readonly options: HandlerOptions;
  readonly client: ClientRequest;
  readonly accepted: Accepted;
  readonly message: Envelope;
  readonly meta: RequestMeta;
  readonly itemRules: ItemRules | undefined;
}

/** Runs once the servers have answered; the client gets the error of a session that cannot begin. */
export function whenReady(
  held: HeldSession,
  answer: CallAnswer,
  idText: string,
  then: (servers: ServerAnswer) => void,
): void {
  const failed = (error: unknown): void => {
    const known = asGatewayError(error);
    if (!answer.refuse(known, idText)) respondError(answer, known, idText);
  };
  const run = (servers: ServerAnswer): void => {
    try {
      then(servers);
    } catch (error) {
      failed(error);
    }
  };
  if (held.answer !== undefined) run(held.answer);
  else held.ready.then(run, failed);
}

/**
 * Judges a message and sends it to its target.
 * @param tasked the call whose result the message asks for
 */
export function send(
  { options, client, message: asked }: ModernRequest,
  { session }: HeldSession,
  answer: CallAnswer,
  message: Envelope,
  tasked?: Envelope,
): void {
  session.unused = false;
  const x = dispatchFor(options, client, session, answer);
  const notes = message.method === asked.method ? x.notes : notesOfOwn(x.notes);
  prepareMessage({ ...x, notes, headers: paramHeaders(client.request), tasked }, message)();
}

/**
 * Sends a request of the gateway's own, under the rules of the caller.
 * @param then gets the response
 */
export function ask(
  modern: ModernRequest,
  held: HeldSession,
  method: string,
  params: object,
  then: (response: Envelope) => void,
): void {
  const answer = new OwnAnswer(modern.itemRules, (text) => then(readOwn(text)));
  send(modern, held, answer, ownMessage(method, JSON.stringify(params)));
}
