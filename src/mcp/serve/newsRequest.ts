import { GatewayError } from '../../errors.ts';
import { cut, type Envelope } from '../json/envelope.ts';
import { errorResponse, sendError } from '../messages/rpcError.ts';
import type { HeldSession } from '../modern/heldSession.ts';
import { honoured, NewsStream, readNewsFilter, type NewsFilter } from '../modern/newsStream.ts';
import { OwnAnswer } from '../modern/ownAnswer.ts';
import { hasTasks, tasksCapability } from '../modern/questions.ts';
import { TaskNews } from '../modern/taskNews.ts';
import { ModernStreams } from '../session/modernStreams.ts';
import { openEventStream } from './listen.ts';
import { ask, whenReady, type ModernRequest } from './modernRequest.ts';

/**
 * Serves `subscriptions/listen` (MCP 2026-07-28, "Subscriptions"): an event stream with news, until the client closes it.
 * @throws GatewayError mcp_not_acceptable
 */
export function listenForNews(modern: ModernRequest, held: HeldSession, release: () => void): void {
  const { client, accepted, message } = modern;
  const idText = cut(message.text, message.idSpan);
  const filter = readNewsFilter(message);
  if (!accepted.events || filter === undefined) {
    release();
    if (!accepted.events) throw new GatewayError('mcp_not_acceptable');
    const why = 'invalid params: notifications must be an object that says what to listen for';
    refuse(modern, new GatewayError('mcp_invalid_params', { message: why }));
    return;
  }
  const failed = new OwnAnswer(undefined, (text) => {
    release();
    client.reply.send({ status: 200, headers: [['content-type', 'application/json']], body: text });
  });
  whenReady(held, failed, idText, ({ capabilities }) => {
    if (client.reply.closed) {
      release();
      return;
    }
    const honest = honoured(filter, capabilities);
    if (honest.tasks.length > 0 && !hasTasks(modern.meta.capabilities)) {
      const data = { requiredCapabilities: tasksCapability };
      release();
      sendError(client.reply, new GatewayError('mcp_capability_missing'), idText, data);
    } else open(modern, held, idText, honest, release);
  });
}

function refuse({ client, message }: ModernRequest, error: GatewayError): void {
  const body = errorResponse(error, cut(message.text, message.idSpan));
  client.reply.send({ status: 200, headers: [['content-type', 'application/json']], body });
}

function open(
  modern: ModernRequest,
  held: HeldSession,
  idText: string,
  filter: NewsFilter,
  release: () => void,
): void {
  const { session } = held;
  const { streams } = session;
  if (!(streams instanceof ModernStreams)) throw new Error('the session is none of the modern era');
  openEventStream(modern.options, modern.client, () => ({
    session,
    join: (stream, itemRules) => {
      const news = new NewsStream(stream, idText, itemRules);
      const leave = streams.listen(news);
      const taskNews = new TaskNews(session, itemRules);
      let uris: readonly string[] = [];
      let isOver = false;
      const begin = async (): Promise<void> => {
        const [tasks, subscribed] = await Promise.all([
          taskNews.watch(filter.tasks),
          subscribe(modern, held, filter.uris),
        ]);
        if (isOver) unsubscribe(modern, held, subscribed);
        else uris = subscribed;
        // A client that is told that it listens must miss nothing from then on.
        await Promise.all([...session.targets.values()].flatMap(({ hearing }) => hearing ?? []));
        if (!isOver) news.acknowledge({ lists: filter.lists, uris, tasks });
      };
      begin().catch(() => news.end());
      return {
        end: () => streams.endStream(news),
        remove: () => {
          isOver = true;
          leave();
          taskNews.end();
          unsubscribe(modern, held, uris);
          release();
        },
      };
    },
  }));
}

/** Subscribes to resources; those that the caller may not know of, or the server refuses, are left out. */
async function subscribe(
  modern: ModernRequest,
  held: HeldSession,
  uris: readonly string[],
): Promise<readonly string[]> {
  // At once: another stream that ends meanwhile must not end the subscription.
  for (const uri of uris) {
    const subscription = held.subscribed.get(uri) ?? { streams: 0, isMade: false };
    held.subscribed.set(uri, subscription);
    subscription.streams++;
  }
  const honoured = (uri: string): Promise<boolean> => subscribeTo(modern, held, uri);
  // A policy that counts calls must not refuse one call of a request because of another.
  if (modern.client.caller.count !== undefined) {
    const made: string[] = [];
    for (const uri of uris) if (await honoured(uri)) made.push(uri);
    return made;
  }
  const answers = await Promise.all(uris.map(honoured));
  return uris.filter((_, nth) => answers[nth]);
}

/** @returns whether the server agrees */
function subscribeTo(modern: ModernRequest, held: HeldSession, uri: string): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  ask(modern, held, 'resources/subscribe', { uri }, ({ isError }: Envelope) => {
    const subscription = held.subscribed.get(uri);
    if (isError) unsubscribe(modern, held, [uri]);
    else if (subscription !== undefined) subscription.isMade = true;
    resolve(!isError);
  });
  return promise;
}

/** The last stream that listens for a resource ends the subscription. */
function unsubscribe(modern: ModernRequest, held: HeldSession, uris: readonly string[]): void {
  for (const uri of uris) {
    const subscription = held.subscribed.get(uri);
    if (subscription === undefined || --subscription.streams > 0) continue;
    held.subscribed.delete(uri);
    if (subscription.isMade && !held.session.ended)
      ask(modern, held, 'resources/unsubscribe', { uri }, () => undefined);
  }
}
