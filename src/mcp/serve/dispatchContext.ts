import type { HeaderLine, HttpRequest } from '../../http/index.ts';
import type { McpBackend } from '../../model/index.ts';
import type { Caller, CallerWays } from '../contract.ts';
import type { ItemRules } from '../items/itemRules.ts';
import type { Naming } from '../items/naming.ts';
import type { Envelope } from '../json/envelope.ts';
import type { Tally } from '../limits/budget.ts';
import type { CallLimit } from '../limits/callTimeouts.ts';
import type { CallAnswer } from '../session/callAnswer.ts';
import type { McpMetrics } from '../session/mcpMetrics.ts';
import type { Session } from '../session/session.ts';
import type { MessageChecks } from './checks.ts';
import type { MessageNotes } from './messageNotes.ts';

/** Everything that judging and sending the messages of one POST needs. */
export interface Dispatch {
  readonly settings: McpBackend;
  readonly naming: Naming;
  readonly session: Session;
  readonly answer: CallAnswer;
  /** Undefined where the route has no rule about items. */
  readonly itemRules: ItemRules | undefined;
  readonly http: HttpRequest;
  /** Takes the notes about the message at hand. */
  readonly notes: MessageNotes;
  readonly mcpMetrics: McpMetrics;
  /** Header lines of a modern client for the parameters of a tool. */
  readonly headers?: readonly HeaderLine[];
  /** The ways of the caller to its targets; absent where they are alike for all callers. */
  readonly ways?: CallerWays | undefined;
  /** Counts a use of an item, which is sent when the promise resolves; absent where no policy counts them. */
  readonly count?: Caller['count'] | undefined;
  /** The time of a use of an item; absent where no policy says it for single calls. */
  readonly callTime?: Caller['callTime'] | undefined;
  /** The checks of policies on the messages of a method; absent where no policy checks any. */
  readonly checksOf?: ((method: string, notes: MessageNotes) => MessageChecks | undefined) | undefined;
  /** The checks of the request at hand; absent where it has none. */
  readonly checks?: MessageChecks | undefined;
  /** The checks have changed the request: it is judged again, and asked about no more. */
  readonly isChecked?: true;
  /** The call of the client that the gateway has made a task of, where the request asks for its result. */
  readonly tasked?: Envelope | undefined;
  /** Counts a call for its caller. */
  readonly enter: () => Tally;
  /** The time that a call may take where its target does not say it. */
  readonly callLimit: CallLimit;
  /** The longest time that `callTime` may say, in milliseconds. */
  readonly mostCallMs: number;
}

/** Has the client left for good? It can come back for a stream of a session that goes on. */
export const hasLeft = ({ session, answer }: Pick<Dispatch, 'session' | 'answer'>): boolean =>
  answer.closed || (answer.gone && session.ended);
