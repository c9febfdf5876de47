/** Addresses of pages on the site, and links between pages of the repository turned into them. */
import { dirname, join } from 'node:path';

/** The path of a page below the root of the site, without slashes at its ends; empty for the start page. */
export function idOf(file: string): string {
  if (file === 'README.md') return '';
  if (file === 'docs/README.md') return 'docs';
  if (file === 'examples/README.md') return 'gallery';
  if (file.startsWith('examples/'))
    return file
      .replace(/^examples\//, 'gallery/')
      .replace(/\.yaml$/, '')
      .toLowerCase();
  return (
    file
      .replace(/^docs\//, '')
      // A page may have the name of a folder: docs/mcp.md and docs/mcp/.
      .replace(/\/README\.md$/, '/overview')
      .replace(/\.md$/, '')
      .toLowerCase()
  );
}

export interface Surroundings {
  /** Files of the repository that are pages of the site. */
  readonly pages: ReadonlySet<string>;
  /** Begins all addresses of the site: `/`, or `/path/`. */
  readonly base: string;
  /** Where the repository's files can be read, without a slash at its end; undefined if that is unknown. */
  readonly repository?: string;
}

/** A link of Markdown: its text, which may hold code with brackets, and its target. */
const link = /(!?)\[((?:[^\][]|\[[^\]]*\]|`[^`]*`)*)\]\(([^)\s]+)\)/g;

/** The parts of a page that are no code blocks are changed by `change`. */
export function outsideCode(text: string, change: (part: string) => string): string {
  return text
    .split(/(^ *```[\s\S]*?^ *```$)/m)
    .map((part, index) => (index % 2 === 1 ? part : change(part)))
    .join('');
}

/** The address of a file of the repository, or undefined if the site has no such page. */
export function addressOf(file: string, { pages, base, repository }: Surroundings): string | undefined {
  if (file.startsWith('docs/images/')) return `${base}images/${file.slice('docs/images/'.length)}`;
  const page = pages.has(file) ? file : pages.has(`${file}/README.md`) ? `${file}/README.md` : undefined;
  if (page !== undefined) return idOf(page) === '' ? base : `${base}${idOf(page)}/`;
  return repository === undefined ? undefined : `${repository}/blob/main/${file}`;
}

/** A picture in both colour schemes, as GitHub shows it. */
const themed =
  /<picture>\s*<source media="\(prefers-color-scheme: dark\)" srcset="([^"]+)"\s*\/?>\s*<img alt="([^"]*)" src="([^"]+)"\s*\/?>\s*<\/picture>/g;

/** The reader of the site chooses the colour scheme, so each picture has both images, and the style shows one. */
const themedImages = (text: string, file: string, surroundings: Surroundings): string =>
  text.replaceAll(themed, (_whole, dark: string, alt: string, light: string) => {
    const image = (name: string, scheme: string): string =>
      `<img class="of-${scheme}" alt="${alt}" src="${addressOf(join(dirname(file), name), surroundings) ?? name}">`;
    return image(light, 'light') + image(dark, 'dark');
  });

/**
 * The text of a page with links for the site. A link to a file that is no page, such as a source file, becomes its text,
 * unless the address of the repository is known.
 */
export function withSiteLinks(text: string, file: string, surroundings: Surroundings): string {
  return outsideCode(text, (part) =>
    themedImages(part, file, surroundings).replaceAll(
      link,
      (whole, image: string, label: string, target: string) => {
        if (/^[a-z]+:/.test(target) || target.startsWith('#')) return whole;
        const [path = '', anchor] = target.split('#');
        const address = addressOf(join(dirname(file), path).replace(/\/$/, ''), surroundings);
        if (address === undefined) return label;
        return `${image}[${label}](${address}${anchor === undefined ? '' : `#${anchor}`})`;
      },
    ),
  );
}
