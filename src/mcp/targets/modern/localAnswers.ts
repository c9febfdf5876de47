/** Requests of the legacy era that a server of the modern era does not have: the gateway answers them. */

import { cut, edited, memberOf, stringValue, type Envelope } from '../../json/envelope.ts';
import { ownError, ownResult } from '../../json/ownMessage.ts';
import type { Outgoing } from '../../messages/outgoing.ts';
import type { Waiter } from '../kind/target.ts';
import type { Subscriptions } from './subscriptions.ts';

/** The state of a session that its server does not keep. */
export interface LocalState {
  readonly subscriptions: Subscriptions;
  hasLogging: boolean;
  /** The lowest level of log messages that the client wants; undefined: it wants none. */
  logLevel: string | undefined;
}

/** RFC 5424, as MCP names the levels. */
const levels: ReadonlySet<string> = new Set([
  'debug',
  'info',
  'notice',
  'warning',
  'error',
  'critical',
  'alert',
  'emergency',
]);

type LocalAnswer = (state: LocalState, request: Envelope, waiter: Waiter) => void;

const noMethod: LocalAnswer = (_state, { method }, waiter) =>
  waiter.answered(ownError(-32601, `Method not found: ${method.slice(0, 128)}`));

const setLevel: LocalAnswer = (state, request, waiter) => {
  const level = parameter(request, 'level');
  if (!state.hasLogging) noMethod(state, request, waiter);
  else if (level === undefined || !levels.has(level))
    waiter.answered(ownError(-32602, 'invalid params: the level is none of MCP'));
  else {
    state.logLevel = level;
    waiter.answered(ownResult('{}'));
  }
};

const subscribe: LocalAnswer = ({ subscriptions }, request, waiter) => {
  const uri = parameter(request, 'uri');
  if (uri === undefined) waiter.answered(ownError(-32602, 'invalid params: uri is no string'));
  else subscriptions.subscribe(uri, waiter);
};

const unsubscribe: LocalAnswer = ({ subscriptions }, request, waiter) => {
  const uri = parameter(request, 'uri');
  if (uri !== undefined) subscriptions.unsubscribe(uri);
  waiter.answered(ownResult('{}'));
};

const answers: ReadonlyMap<string, LocalAnswer> = new Map([
  ['ping', (_state, _request, waiter) => waiter.answered(ownResult('{}'))],
  ['logging/setLevel', setLevel],
  ['resources/subscribe', subscribe],
  ['resources/unsubscribe', unsubscribe],
] satisfies [string, LocalAnswer][]);

/** The tasks of the two eras have equal names and other forms. */
const tasksPrefix = 'tasks/';

/**
 * Answers a request that its server does not have.
 * @param bridged the client is of the legacy era
 * @returns false where the request is for the server
 */
export function answerLocally(
  state: LocalState,
  { envelope, edits }: Pick<Outgoing, 'envelope' | 'edits'>,
  waiter: Waiter,
  bridged: boolean,
): boolean {
  const { method } = envelope;
  const answer = bridged && method.startsWith(tasksPrefix) ? noMethod : answers.get(method);
  if (answer === undefined) return false;
  // A federation changes the URIs of clients into those of the server.
  answer(state, edited(envelope, edits), waiter);
  return true;
}

function parameter({ text, body }: Envelope, name: string): string | undefined {
  const place = memberOf(text, body, name);
  const value = place === 'ambiguous' ? undefined : stringValue(text, place);
  // It is kept: a mere slice would keep the whole message alive.
  return value === undefined ? undefined : cut(value, { start: 0, end: value.length });
}
