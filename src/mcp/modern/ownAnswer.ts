import type { GatewayError } from '../../errors.ts';
import type { ItemRules } from '../items/itemRules.ts';
import { errorResponse } from '../messages/rpcError.ts';
import type { CallAnswer } from '../session/callAnswer.ts';

/** The way back for a request that the gateway makes for a client: the response comes here, and nothing else. */
export class OwnAnswer implements CallAnswer {
  readonly itemRules: ItemRules | undefined;
  readonly takesEvents = false;
  readonly takesProgress = false;
  private readonly then: (response: string) => void;
  private isOver = false;

  /** @param then gets the JSON-RPC response, once */
  constructor(itemRules: ItemRules | undefined, then: (response: string) => void) {
    this.itemRules = itemRules;
    this.then = then;
  }

  get gone(): boolean {
    return this.isOver;
  }

  get closed(): boolean {
    return this.isOver;
  }

  respond(message: string): void {
    if (this.isOver) return;
    this.isOver = true;
    this.then(message);
  }

  refuse(error: GatewayError, idText: string): boolean {
    this.respond(errorResponse(error, idText));
    return true;
  }

  skip(refusal: string): void {
    this.respond(refusal);
  }

  push(): void {
    // It takes no events.
  }

  withdraw(): void {
    // It takes no questions.
  }

  tick(): void {
    // There is no stream to keep alive.
  }
}
