import type { Reply } from '../../http/index.ts';
import type { Step } from './step.ts';
import type { CompiledListener, CompiledRoute, LiveExchange } from './liveExchange.ts';

type Answer = Reply | Promise<Reply | undefined>;

/**
 * The route whose policies answer `/.well-known/<name><resource path>` (RFC 8615; RFC 9728 §3.1): the one that serves
 * the resource path. The bare form belongs to the route that serves `/`, or else to the routes of the host, if their
 * documents are all equal. A route that matches the well-known path itself by more than a catch-all keeps it.
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
    exchange.route = route;
    for (const step of route.onWellKnown) {
      answer = step(exchange, name, rest ?? '');
      answering = step;
      if (answer !== undefined) return true;
    }
    exchange.route = undefined;
    return false;
  };
  const isBare = rest === undefined || rest === '/';
  const route =
    listener.router.findByPath(exchange.host, rest ?? '/', answers) ??
    (isBare && !isAmbiguous(exchange.host, listener)
      ? listener.router.findAny(exchange.host, answers)
      : undefined);
  if (route === undefined || answer === undefined || answering === undefined) return undefined;
  return { route, answer, step: answering };
}

/** Have two routes of the host different documents? A client must not log in for another resource. */
function isAmbiguous(host: string, { router }: CompiledListener): boolean {
  let key: string | undefined;
  const other = router.findAny(host, ({ onWellKnown, wellKnownKey }) => {
    if (onWellKnown.length === 0) return false;
    key ??= wellKnownKey;
    return key !== wellKnownKey;
  });
  return other !== undefined;
}
