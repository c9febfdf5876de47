import { DescriptionError, isObject } from './descriptionText.ts';

/** A path without the characters that would end it, or end the request line. */
const isPath = /^\/[!-"$->@-~]*$/;

/**
 * The path of an API at the first of its servers, without a slash at its end. The host there is of no account: the
 * configuration names the host.
 * @param lists lists of servers, the nearest first; an absent one leaves it to the next
 * @throws DescriptionError
 */
export function serverPath(lists: readonly unknown[]): string {
  const list = lists.find((one) => Array.isArray(one) && one.length > 0) as readonly unknown[] | undefined;
  const [server] = list ?? [];
  if (server === undefined) return '';
  const url = isObject(server) ? server['url'] : undefined;
  if (!isObject(server) || typeof url !== 'string') throw new DescriptionError('a server has no `url`');
  const filled = url.replaceAll(/\{([^{}]*)\}/g, (_, name: string) =>
    defaultOf(server['variables'], name, url),
  );
  // A URL may be relative to the description.
  const parsed = URL.parse(filled, 'http://host/');
  if (parsed === null || !isPath.test(parsed.pathname))
    throw new DescriptionError(`the URL of a server cannot be read: ${url.slice(0, 200)}`);
  return parsed.pathname.replace(/\/+$/, '');
}

function defaultOf(variables: unknown, name: string, url: string): string {
  const variable = isObject(variables) ? variables[name] : undefined;
  const value = isObject(variable) ? variable['default'] : undefined;
  if (typeof value !== 'string')
    throw new DescriptionError(`the server ${url.slice(0, 200)} has no default for {${name}}`);
  return value;
}
