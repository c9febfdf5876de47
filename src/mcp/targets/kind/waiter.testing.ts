import assert from 'node:assert/strict';
import type { GatewayError } from '../../../errors.ts';
import { readEnvelope, type Envelope } from '../../json/envelope.ts';
import type { Waiter } from './target.ts';

/** A message of a test. */
export function message(value: object | string): Envelope {
  const envelope = readEnvelope(typeof value === 'string' ? value : JSON.stringify(value));
  assert.ok(typeof envelope !== 'string', 'the text is a message');
  return envelope;
}

/** Waits for the response to a call, and records it. */
export class Waits implements Waiter {
  abandoned = false;
  /** The text of the response, or the message of the error. */
  readonly outcomes: string[] = [];
  error: GatewayError | undefined;
  /** Resolves with the first outcome. */
  readonly settled: Promise<string>;
  private readonly settle: (outcome: string) => void;

  constructor() {
    const { promise, resolve } = Promise.withResolvers<string>();
    this.settled = promise;
    this.settle = resolve;
  }

  answered(response: Envelope): void {
    this.end(response.text);
  }

  failed(error: GatewayError): void {
    this.error = error;
    this.end(error.message);
  }

  private end(outcome: string): void {
    this.outcomes.push(outcome);
    this.settle(outcome);
  }
}
