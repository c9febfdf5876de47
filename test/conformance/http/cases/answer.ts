import { message, type AnswerCase, type Want } from '../case.ts';

export const OK = 'HTTP/1.1 200 OK';
export const BODY = 'hello';
export const FIVE = 'Content-Length: 5';
/** An answer that nobody asked for. */
export const SECOND = message(OK, ['X-Smuggled: 1', 'Content-Length: 8'], 'smuggled');

/** A case that is to arrive, where it does, as 200 with `BODY`, if `rest` does not say otherwise. */
export const answer = (
  id: string,
  rule: string,
  text: string,
  want: Want,
  rest: Partial<AnswerCase> = {},
): AnswerCase => ({
  id: `answer: ${id}`,
  rule,
  text,
  want,
  status: 200,
  body: BODY,
  ...rest,
});
