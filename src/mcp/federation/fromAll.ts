/** Asks every target of a session, and decides what one that fails means for the whole. */

import { asGatewayError, type GatewayError } from '../../errors.ts';
import { targetError } from '../messages/rpcError.ts';
import type { Federation } from './federation.ts';
import type { Member } from './member.ts';

export interface Gathered<Value> {
  readonly member: Member;
  readonly value: Value;
}

const hint = 'the backend has failureMode failClosed; with failOpen the other targets would be served';

/** The error of a request to all targets: it names the target and the setting that would serve the others. */
function failedClosed(thrown: unknown): GatewayError {
  const error = asGatewayError(thrown);
  return error.with({ message: `${error.message} (${hint})` });
}

/** Names in one message. */
const maxNames = 8;

/** The error where each target has failed: the cause of one of them, and the names of all. */
function allFailed(error: GatewayError, all: readonly Member[]): GatewayError {
  const names = all.slice(0, maxNames).map(({ name }) => name);
  const more = all.length > maxNames ? ` and ${all.length - maxNames} more` : '';
  return error.with({ message: `${error.message} (all targets failed: ${names.join(', ')}${more})` });
}

/**
 * The values of all targets that have one, in configured order. Under `failOpen`, targets that fail or that are slow
 * are left out; the first answer is always waited for.
 * @param onLate gets the answer of a target that was left out because it was slow
 * @param onMissed hears of each target that was left out because it failed, also when it was slow before
 * @throws GatewayError of a target under `failClosed`; where all fail, of the first one, with all names
 */
export async function fromAll<Value>(
  federation: Federation,
  of: (member: Member) => Promise<Value>,
  onLate: (member: Member, value: Value) => void,
  onMissed: (member: Member) => void = () => undefined,
): Promise<readonly Gathered<Value>[]> {
  const { all, failOpen, waitMs, log } = federation;
  const asked = all.map((member) => ({ member, answer: of(member) }));
  if (!failOpen || all.length === 1) {
    try {
      return await Promise.all(asked.map(async ({ member, answer }) => ({ member, value: await answer })));
    } catch (error) {
      throw all.length === 1 ? asGatewayError(error) : failedClosed(error);
    }
  }
  const errors: GatewayError[] = [];
  const clock = new Wait(waitMs);
  const gathered = await Promise.all(
    asked.map(async ({ member, answer }) => {
      try {
        const value = await Promise.race([answer, clock.over]);
        if (value !== tooLate) {
          clock.answered();
          return [{ member, value }];
        }
        errors.push(targetError('mcp_target_timeout', member.name, `did not answer within ${waitMs} ms`));
        log.warn('Target left out: it is slow', { target: member.name, ms: waitMs });
        answer.then(
          (late) => onLate(member, late),
          () => onMissed(member),
        );
      } catch (error) {
        const failure = asGatewayError(error);
        onMissed(member);
        errors.push(failure);
        log.warn('Target left out: it failed', {
          target: member.name,
          reason: failure.message,
          detail: failure.detail,
        });
      }
      return [];
    }),
  );
  clock.stop();
  if (errors.length === all.length) throw allFailed(errors[0]!, all);
  return gathered.flat();
}

const tooLate = Symbol('too late');

/** A time that several requests wait for together; it goes on until the first of them has an answer. */
class Wait {
  readonly over: Promise<typeof tooLate>;
  private readonly end: () => void;
  private readonly timer: NodeJS.Timeout;
  private hasAnswer = false;
  private passed = false;

  constructor(ms: number) {
    const { promise, resolve } = Promise.withResolvers<typeof tooLate>();
    this.over = promise;
    this.end = () => resolve(tooLate);
    this.timer = setTimeout(() => {
      this.passed = true;
      if (this.hasAnswer) this.end();
    }, ms);
  }

  answered(): void {
    this.hasAnswer = true;
    if (this.passed) this.end();
  }

  stop(): void {
    clearTimeout(this.timer);
  }
}
