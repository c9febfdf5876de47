import { parseAuthority, type Authority } from './authority.ts';
import { normalizePath } from './path.ts';

/** A request target brought into origin form (RFC 9112 §3.2). */
export interface Target {
  /** Normalised path and query: what is matched and forwarded. */
  readonly target: string;
  readonly path: string;
  readonly query: string;
  /** From the absolute form, which wins over the Host field (RFC 9112 §3.2.2). */
  readonly authority: Authority | undefined;
}

/** @returns undefined where the target is malformed or in a form this method may not use */
export function readTarget(text: string, method: string): Target | undefined {
  if (text.charCodeAt(0) === 47) return origin(text, undefined);
  if (text === '*')
    return method === 'OPTIONS' ? { target: '*', path: '*', query: '', authority: undefined } : undefined;
  const absolute = /^https?:\/\/([^/?]*)(.*)$/i.exec(text);
  if (absolute === null) return undefined;
  const authority = parseAuthority(absolute[1] as string);
  if (authority === undefined) return undefined;
  const rest = absolute[2] as string;
  return origin(rest.startsWith('/') ? rest : `/${rest}`, authority);
}

function origin(text: string, authority: Authority | undefined): Target | undefined {
  const mark = text.indexOf('?');
  const raw = mark === -1 ? text : text.substring(0, mark);
  const path = normalizePath(raw);
  if (path === undefined) return undefined;
  const query = mark === -1 ? '' : text.substring(mark + 1);
  const target = path === raw ? text : mark === -1 ? path : `${path}?${query}`;
  return { target, path, query, authority };
}

/** A target without some parameters of its query, each as it is written. The others stay as they are, in their order. */
export function withoutParameters(target: string, isDropped: (pair: string) => boolean): string {
  const mark = target.indexOf('?');
  if (mark < 0) return target;
  const kept = target
    .slice(mark + 1)
    .split('&')
    .filter((pair) => !isDropped(pair));
  const path = target.slice(0, mark);
  return kept.length === 0 ? path : `${path}?${kept.join('&')}`;
}
