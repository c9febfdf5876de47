import type { Reply } from '../../http/index.ts';
import type { Step } from './step.ts';
import type { CompiledListener, CompiledRoute, LiveExchange } from './liveExchange.ts';

type Answer = Reply | Promise<Reply | undefined>;

/**
 * The route whose policies answer `/.well-known/<name><resource path>` (RFC 8615; RFC 9728 §3.1): the one that serves
 * the resource path, or, for the bare form, the first of the host that has such a document. A route that matches the
 * well-known path itself by more than a catch-all keeps it.
 */
export function wellKnownRoute(
  exchange: LiveExchange,
  listener: CompiledListener,
): { route: CompiledRoute; answer: Answer; step: Step<'onWellKnown'> } | undefined {
  const [, name, rest] = /^\/\.well-known\/([\w-]+)(\/.*)?$/.exec(exchange.path) ?? [];
  if (name === undefined) return undefined;
  const explicit = listener.router.find(exchange, exchange.host, exchange.path);
  if (explicit?.rule.written.startsWith('/.well-known/') === true && explicit.route.onWellKnown.length === 0)
    return undefined;
  let answer: Answer | undefined;
  let answering: Step<'onWellKnown'> | undefined;
  let asked: CompiledRoute | undefined;
  const answers = (route: CompiledRoute): boolean => {
    // A route comes once for each of its matches, mostly in a row.
    if (route === asked || route.onWellKnown.length === 0) return false;
    asked = route;
    for (const step of route.onWellKnown) {
      answer = step(exchange, name, rest ?? '');
      answering = step;
      if (answer !== undefined) return true;
    }
    return false;
  };
  const route =
    rest === undefined || rest === '/'
      ? listener.router.findAny(exchange.host, answers)
      : listener.router.findByPath(exchange.host, rest, answers);
  if (route === undefined || answer === undefined || answering === undefined) return undefined;
  return { route, answer, step: answering };
}
