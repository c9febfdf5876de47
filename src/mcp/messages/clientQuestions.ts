/** The requests that a server may make of a client, and the capabilities that the client needs to answer them. */

import { isRecord } from '../json/parsed.ts';

/** 2026-07-28, Multi Round-Trip Requests. */
export type QuestionMethod = 'elicitation/create' | 'sampling/createMessage' | 'roots/list';

const methods: ReadonlySet<string> = new Set<QuestionMethod>([
  'elicitation/create',
  'sampling/createMessage',
  'roots/list',
]);

export const isQuestion = (method: string | undefined): method is QuestionMethod =>
  method !== undefined && methods.has(method);

/**
 * The capability that a client must declare to answer a question, in the form of declared capabilities. Undefined where
 * the client has declared it.
 * @param capabilities JSON text of an object
 * @param isUrl an elicitation that opens a URL
 */
export function undeclaredCapability(
  capabilities: string,
  method: QuestionMethod,
  isUrl: boolean,
): Readonly<Record<string, object>> | undefined {
  const { elicitation, sampling, roots } = JSON.parse(capabilities) as Record<string, unknown>;
  if (method === 'sampling/createMessage') return isRecord(sampling) ? undefined : { sampling: {} };
  if (method === 'roots/list') return isRecord(roots) ? undefined : { roots: {} };
  const knows = (mode: string): boolean => isRecord(elicitation) && isRecord(elicitation[mode]);
  if (isUrl) return knows('url') ? undefined : { elicitation: { url: {} } };
  // 2025-11-25: without a mode, the client knows forms.
  return isRecord(elicitation) && (knows('form') || !knows('url'))
    ? undefined
    : { elicitation: { form: {} } };
}
