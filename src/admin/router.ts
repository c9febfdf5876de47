import type { Page } from './page.ts';

/** The page of a request, or the methods of a path that has no page for its method. */
export type Found =
  | { readonly page: Page; readonly parameters: Readonly<Record<string, string>> }
  | { readonly allow: string }
  | undefined;

interface Row {
  readonly page: Page;
  readonly pattern: RegExp;
  readonly names: readonly string[];
}

/** Makes the function that finds the page of a method and a path. HEAD is answered like GET. */
export function routerOf(pages: readonly Page[]): (method: string, path: string) => Found {
  const rows = pages.map(rowOf);
  return (method, path) => {
    const matching = rows.flatMap((row) => {
      const parameters = parametersOf(row, path);
      return parameters === undefined ? [] : [{ page: row.page, parameters }];
    });
    if (matching.length === 0) return undefined;
    const wanted = method === 'HEAD' ? 'GET' : method;
    const allow = matching.map(({ page }) => (page.method === 'GET' ? 'GET, HEAD' : page.method));
    return matching.find(({ page }) => page.method === wanted) ?? { allow: allow.join(', ') };
  };
}

function rowOf(page: Page): Row {
  const names: string[] = [];
  const pattern = page.path
    .split('/')
    .map((segment) => {
      const [, name, rest] = /^\{(\w+)(\*?)\}$/.exec(segment) ?? [];
      if (name === undefined) return segment.replaceAll(/[^\w-]/g, String.raw`\$&`);
      names.push(name);
      return rest === '*' ? '(.*)' : '([^/]+)';
    })
    .join('/');
  return { page, names, pattern: new RegExp(`^${pattern}$`) };
}

function parametersOf({ pattern, names }: Row, path: string): Record<string, string> | undefined {
  const values = pattern.exec(path)?.slice(1);
  if (values === undefined) return undefined;
  try {
    return Object.fromEntries(names.map((name, index) => [name, decodeURIComponent(values[index] ?? '')]));
  } catch {
    // A percent sign without its digits.
    return undefined;
  }
}
