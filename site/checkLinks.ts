/** Finds dead links in the built site: pages, files and anchors that do not exist. */
import { existsSync, globSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';

const attributes = / (?:href|src)="([^"]*)"/g;
const ids = / (?:id|name)="([^"]+)"/g;

const decoded = (text: string): string =>
  decodeURIComponent(text.replaceAll('&amp;', '&').replaceAll('&#38;', '&'));

/**
 * The dead links of a folder with a built site, each with its page.
 * @param base begins the addresses of the site
 */
export function deadLinks(folder: string, base: string): readonly string[] {
  const pages = globSync('**/*.html', { cwd: folder }).sort();
  const texts = new Map(pages.map((page) => [page, readFileSync(join(folder, page), 'utf8')]));
  const anchors = new Map(
    Array.from(texts, ([page, text]) => [
      page,
      new Set(Array.from(text.matchAll(ids), ([, id = '']) => decoded(id))),
    ]),
  );
  const fileOf = (path: string): string | undefined => {
    const file = join(folder, path);
    if (!existsSync(file)) return undefined;
    if (!statSync(file).isDirectory()) return path;
    return existsSync(join(file, 'index.html')) ? join(path, 'index.html') : undefined;
  };
  const isDead = (page: string, target: string): boolean => {
    if (target === '' || /^(?:[a-z]+:|\/\/)/i.test(target)) return false;
    const [path = '', anchor] = target.replace(/\?[^#]*/, '').split('#');
    if (path.startsWith('/') && !`${path}/`.startsWith(base)) return true;
    const file =
      path === '' ? page : fileOf(path.startsWith('/') ? path.slice(base.length) : join(dirname(page), path));
    if (file === undefined) return true;
    return anchor !== undefined && anchor !== '' && anchors.get(file)?.has(anchor) === false;
  };
  return Array.from(texts, ([page, text]) => {
    const targets = new Set(Array.from(text.matchAll(attributes), ([, target = '']) => decoded(target)));
    return [...targets].filter((target) => isDead(page, target)).map((target) => `${page}: ${target}`);
  }).flat();
}
