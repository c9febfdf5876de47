/** The steps that a client of the TypeScript SDK takes with a server, whichever way leads there. */
import assert from 'node:assert/strict';
import { until } from '../../src/until.testing.ts';

export interface Call {
  readonly name: string;
  readonly arguments?: object;
}

/** The items that the steps use, under the names of the server itself. */
export interface CourseItems {
  readonly echo: Call;
  readonly resource: string;
  readonly prompt: Call;
  /** Asks the user. */
  readonly elicit: Call;
  /** Asks the model of the client. */
  readonly sample: Call;
  readonly progress: Call;
  /** Reports progress and goes on until it is cancelled, or longer than a test takes. */
  readonly endless: Call;
  readonly subscription: { readonly uri: string; readonly change: Call; readonly undo?: Call };
}

/** The common part of clients of both versions of the SDK. */
export interface CourseClient {
  listTools(): Promise<{ tools: { name: string }[] }>;
  readResource(params: { uri: string }): Promise<object>;
  getPrompt(params: object): Promise<object>;
  callTool(call: Call, options?: CallOptions): Promise<object>;
  /** Asks for news of a resource; the answer ends them. */
  follow(uri: string): Promise<() => Promise<unknown>>;
  /** URIs of the resources that have changed. */
  readonly updates: readonly string[];
  close(): Promise<void>;
}

export interface CallOptions {
  readonly onprogress?: (progress: { progress: number; total?: number | undefined }) => void;
  readonly signal?: AbortSignal;
}

/** The prefixes of a federation; empty where there are none. */
export interface Prefixes {
  readonly names: string;
  readonly uris: string;
}

export interface CourseSeen {
  readonly tools: readonly string[];
  readonly echo: string;
  readonly resource: string;
  readonly prompt: string;
  readonly elicit: string;
  /** The server got the answer of the model. SDKs order its members differently. */
  readonly sampled: boolean;
  readonly progress: readonly (readonly [progress: number, total: number | undefined])[];
  readonly update: string | undefined;
  readonly cancelled: boolean;
}

const textOf = (result: object): string =>
  (result as { content: { text?: string }[] }).content.map(({ text = '' }) => text).join('\n');

/** Takes every step, and tells what came of each, under the names of the server itself. */
export async function takeCourse(
  client: CourseClient,
  items: CourseItems,
  { names, uris }: Prefixes,
): Promise<CourseSeen> {
  const call = (one: Call, options?: CallOptions): Promise<object> =>
    client.callTool({ ...one, name: names + one.name }, options);
  const { tools } = await client.listTools();
  const echo = textOf(await call(items.echo));
  const { contents } = (await client.readResource({ uri: uris + items.resource })) as {
    contents: { text: string }[];
  };
  const { messages } = (await client.getPrompt({ ...items.prompt, name: names + items.prompt.name })) as {
    messages: { content: { text: string } }[];
  };
  const elicit = textOf(await call(items.elicit));
  const sampled = textOf(await call(items.sample)).includes('sampled');
  const progress: [number, number | undefined][] = [];
  await call(items.progress, { onprogress: (each) => void progress.push([each.progress, each.total]) });
  const { uri, change, undo } = items.subscription;
  const unfollow = await client.follow(uris + uri);
  await call(change);
  const update = await until('news of the resource', () => client.updates[0]);
  await unfollow();
  // The session at the server may serve the next client of the same user.
  if (undo !== undefined) await call(undo);
  const abort = new AbortController();
  let cancelled = false;
  await call(items.endless, { signal: abort.signal, onprogress: () => abort.abort('enough') }).catch(
    () => (cancelled = true),
  );
  assert.ok(update.startsWith(uris));
  return {
    tools: tools.flatMap(({ name }) => (name.startsWith(names) ? [name.slice(names.length)] : [])).toSorted(),
    echo,
    resource: contents[0]!.text,
    prompt: messages[0]!.content.text,
    elicit,
    sampled,
    progress,
    update: update.slice(uris.length),
    cancelled,
  };
}
