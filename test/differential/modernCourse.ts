/** The course of requests of a client of revision 2026-07-28. */
import { usualResult } from './answers.ts';
import { modernCapabilities } from './modernWire.ts';
import { open, slowCall, walkLists, wrong } from './course.ts';
import type { Message, Peer } from './peer.ts';
import type { OwnAnswers, Subject } from './subject.ts';
import type { Line, Transcript } from './transcript.ts';

/** Rounds of one request: no server here asks more often. */
const maxRounds = 5;

/** Methods of the older revisions. */
const removed: ReadonlySet<string> = new Set([
  'initialize',
  'ping',
  'logging/setLevel',
  'resources/subscribe',
  'resources/unsubscribe',
]);

export async function walkModern(peer: Peer, subject: Subject): Promise<void> {
  await peer.request('server/discover');
  if (subject.hasNoListen !== true) await listen(peer, subject);
  await walkSteps(peer, subject);
  for (const method of removed) await peer.request(method, {}, `removed ${method}`);
  await peer.end();
}

/** The same steps in a session of 2025-11-25, for a server that does not know revision 2026-07-28. */
export async function walkInSession(peer: Peer, subject: Subject): Promise<void> {
  await open(peer, subject, '2025-11-25', modernCapabilities);
  await walkSteps(peer, subject);
  await peer.end();
}

/** Labels of the steps that only one of the two courses has. */
const ofOneCourse =
  /^(?:initialize|server\/discover|subscriptions\/listen|removed .*|DELETE|a request after DELETE|notifications\/initialized|notifications\/subscriptions\/acknowledged|roots\/list)$/;

/** The label of a request, whichever round it is. */
const firstRound = ({ label }: Line): string => label.replace(/, round \d+$/, '');

/** The answers and messages that both courses have. */
export const bridgedPart = ({ answers, heard }: Transcript): Transcript => {
  const shared = (lines: readonly Line[]): Line[] => lines.filter(({ label }) => !ofOneCourse.test(label));
  // A question ends a round, and the next one has the answer to the call.
  const last = (line: Line, next: Line | undefined): boolean =>
    next?.label.startsWith(`${firstRound(line)}, round`) !== true;
  const ended = shared(answers).filter((line, place, all) => last(line, all[place + 1]));
  return {
    answers: ended.map((line) => ({ ...line, label: firstRound(line) })),
    heard: shared(heard),
  };
};

/** A client of the revision cannot answer a question with an error. */
const isError = (answer: OwnAnswers[string]): boolean => 'error' in answer;

async function walkSteps(peer: Peer, subject: Subject): Promise<void> {
  const { tools, resources } = await walkLists(peer);
  for (const { tool, args, params, heard, answers } of subject.calls) {
    if (!tools.includes(tool) || Object.values(answers ?? {}).some(isError)) continue;
    const call = { name: tool, ...(args === undefined ? {} : { arguments: args }), ...params };
    await peer.hearing(heard ?? {}, () => ask(peer, subject, 'tools/call', call, answers), answers);
  }
  for (const prompt of subject.prompts) await ask(peer, subject, 'prompts/get', prompt);
  for (const uri of [...resources, ...subject.resources]) await ask(peer, subject, 'resources/read', { uri });
  for (const completion of subject.completions) await peer.request('completion/complete', completion);
  if (subject.progress !== undefined)
    for (const token of [7, 'seven'])
      await peer.request('tools/call', slowCall(subject.progress, token), 'tools/call with progress');
  for (const [method, params] of wrong)
    if (!removed.has(method)) await peer.request(method, params, `wrong ${method}`);
}

/** Listens for everything until the end of the course. */
async function listen(peer: Peer, { watched }: Subject): Promise<void> {
  const notifications = {
    toolsListChanged: true,
    promptsListChanged: true,
    resourcesListChanged: true,
    ...(watched !== undefined && { resourceSubscriptions: [watched.uri] }),
  };
  await peer.hearing({ 'notifications/subscriptions/acknowledged': 1 }, () =>
    Promise.resolve(peer.ask('subscriptions/listen', { notifications })),
  );
}

/** Sends a request, and sends it again with the answers to each round of questions. */
async function ask(
  peer: Peer,
  { roots = [] }: Subject,
  method: string,
  params: { readonly name?: string; readonly uri?: string },
  answers: OwnAnswers = {},
): Promise<Message> {
  const label = `${method} ${params.name ?? params.uri ?? ''}`;
  let message = await peer.request(method, params, label);
  for (let round = 2; message.result?.['resultType'] === 'input_required' && round <= maxRounds; round++) {
    const { inputRequests = {}, requestState } = message.result as {
      inputRequests?: Readonly<Record<string, { method: string; params?: object }>>;
      requestState?: string;
    };
    const inputResponses = Object.fromEntries(
      Object.entries(inputRequests).map(([key, question]) => {
        const own = answers[question.method];
        return [key, own !== undefined && 'result' in own ? own.result : usualResult(question, roots)];
      }),
    );
    const next = { ...params, inputResponses, requestState };
    message = await peer.request(method, next, `${label}, round ${round}`);
  }
  return message;
}
