import type { AnswerCase, RequestCase, StreamCase } from '../case.ts';
import { answerCases as answers } from './answers.ts';
import { chunks } from './chunks.ts';
import { codings } from './coding.ts';
import { connections } from './connection.ts';
import { fields } from './fields.ts';
import { hosts } from './host.ts';
import { lengths } from './length.ts';
import { requestLines } from './requestLine.ts';
import { streamCases as streams } from './streams.ts';
import { trailers } from './trailers.ts';

/** All cases of requests over HTTP/1.1. @throws Error where two have one name */
export const requestCases: readonly RequestCase[] = unique([
  ...requestLines,
  ...fields,
  ...hosts,
  ...lengths,
  ...codings,
  ...chunks,
  ...trailers,
  ...connections,
]);

/** All cases of answers from a backend that cannot be trusted. */
export const answerCases: readonly AnswerCase[] = unique(answers);

/** All cases of requests over HTTP/2 for a backend of HTTP/1.1. */
export const streamCases: readonly StreamCase[] = unique(streams);

export function unique<T extends { readonly id: string }>(cases: readonly T[]): readonly T[] {
  const seen = new Set<string>();
  for (const { id } of cases) {
    if (seen.has(id)) throw new Error(`two cases are called ${id}`);
    seen.add(id);
  }
  return cases;
}
