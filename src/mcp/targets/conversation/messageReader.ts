import { stackOf } from '../../../errorText.ts';
import type { LargeEvent } from '../../../http/index.ts';
import { ThrottledLog } from '../../../telemetry/index.ts';
import type { Envelope } from '../../json/envelope.ts';
import { wireIdOf, type InvalidMessage } from '../../json/invalidMessage.ts';
import { targetError } from '../../messages/rpcError.ts';
import { deliverResponse } from './deliverResponse.ts';
import { LargeResponse } from './largeResponse.ts';
import { idOfLongLine } from './longLine.ts';
import type { MessageReceiver } from './messageReceiver.ts';
import { readMessages } from './readMessages.ts';

/** Most characters that the log gets of a text that is no message. */
const maxShown = 200;
/** The id of a broken message is looked for in so much of its beginning and end. */
const edge = 512;

/**
 * Reads what a server says, over whatever transport. Every answer that breaks JSON-RPC fails the call that it is about
 * at once: a call must not wait for a server that has answered already.
 */
export class MessageReader {
  private readonly receiver: MessageReceiver;
  private readonly garbage: ThrottledLog;

  constructor(receiver: MessageReceiver) {
    this.receiver = receiver;
    this.garbage = new ThrottledLog(receiver.log, 'Output of the target skipped: not an MCP message');
  }

  /**
   * A large message has begun.
   * @param wireId the call on whose stream it comes; 0 where the transport does not say
   * @returns undefined for a message that has to be read whole
   */
  takeLarge(head: Buffer, wireId = 0): LargeEvent | undefined {
    return LargeResponse.begin(head, wireId, this.receiver);
  }

  /** @param wireId the call on whose stream the text came; 0 where the transport does not say */
  take(text: string, wireId = 0): void {
    for (const message of readMessages(text)) {
      try {
        if ('fault' in message) this.refuse(message, wireId);
        else if (message.kind === 'response') this.answer(message);
        else this.receiver.onMessage(message, wireId);
      } catch (error) {
        // A defect must not take every other session down with it.
        const stack = stackOf(error);
        this.receiver.log.error('Message of the target could not be handled', { stack });
      }
    }
  }

  private answer(message: Envelope): void {
    const { receiver } = this;
    const waiter = receiver.calling.settle(message);
    if (waiter !== undefined) {
      receiver.settled(message.id as number);
      deliverResponse(waiter, message);
      return;
    }
    // JSON-RPC 2.0 §5: the id of a response "MUST be the same as the value of the id member in the Request".
    const meant = typeof message.id === 'string' ? wireIdOf(message.id) : undefined;
    if (meant === undefined || !this.fail(meant, 'answered with its id as a string'))
      receiver.log.debug('Target response ignored: no call is pending', { id: String(message.id) });
  }

  private refuse({ text, fault, what, ids, isAnswer }: InvalidMessage, wireId: number): void {
    this.garbage.warn({ why: fault, what, text: text.slice(0, maxShown) });
    const { calling } = this.receiver;
    let failed = false;
    for (const id of ids) failed = this.fail(id, what) || failed;
    if (failed || ids.length > 0) return;
    const named = fault === 'not_json' ? idOfLongLine(text.slice(0, edge), text.slice(-edge)) : undefined;
    if (named !== undefined) this.fail(named, what);
    // An answer without an id: to the call on whose stream it stands, or to the only one there is.
    else if (isAnswer)
      this.fail(wireId === 0 ? (calling.sole ?? 0) : wireId, `${what}, without the id of the call`);
  }

  private fail(wireId: number, what: string): boolean {
    const { receiver } = this;
    if (receiver.calling.get(wireId) === undefined) return false;
    receiver.failed(wireId, targetError('mcp_target_failed', receiver.name, what));
    return true;
  }
}
