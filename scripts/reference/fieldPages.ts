import { format } from 'prettier';
import { configurationSchema, writtenDefault } from '../../src/config/index.ts';
import { definitionOf, isUnsupported, partsOf, typeOf, type Schema } from './schema.ts';

interface Page {
  readonly file: string;
  readonly title: string;
  /** Top-level fields and definitions of the schema. */
  readonly roots: readonly string[];
  readonly intro: string;
}

const listed: readonly Page[] = [
  {
    file: 'config',
    title: 'Fields of config',
    roots: ['config'],
    intro: 'Settings of the process: see [configuration](../../configuration.md#config).',
  },
  {
    file: 'ui',
    title: 'Fields of ui',
    roots: ['ui'],
    intro: 'The console on the listeners of a gateway: see [console](../../console.md).',
  },
  {
    file: 'frontend-policies',
    title: 'Fields of frontendPolicies',
    roots: ['frontendPolicies'],
    intro:
      'Limits and timeouts of client connections: see [configuration](../../configuration.md#frontendpolicies).',
  },
  {
    file: 'ports',
    title: 'Fields of binds and gateways',
    roots: ['binds', 'gateways', 'tls'],
    intro:
      'Ports and listeners: see [configuration](../../configuration.md#ports-and-routes-in-three-forms).',
  },
  {
    file: 'routes',
    title: 'Fields of routes',
    roots: ['routes', 'tcpRoutes', 'udpRoutes', 'Policies'],
    intro: 'Matches, policies and backends of routes: see [routing](../../routing.md).',
  },
  {
    file: 'mcp',
    title: 'Fields of MCP backends',
    roots: ['mcp', 'McpBackend', 'McpTargetPolicies'],
    intro: 'MCP servers and their settings: see [MCP](../../mcp.md).',
  },
  {
    file: 'backends',
    title: 'Fields of backends',
    roots: ['backends', 'BackendPolicies', 'RawBackendPolicies', 'backendTLS', 'rawBackendTLS'],
    intro: 'HTTP backends and their policies: see [HTTP backends](../../upstream.md).',
  },
  {
    file: 'backend-auth',
    title: 'Fields of backendAuth',
    roots: ['backendAuth'],
    intro: 'Credentials for backends: see [backendAuth](../../policies/backendAuth.md).',
  },
];

/** Every definition that no page above lists is a policy. */
const policies = {
  file: 'policies',
  title: 'Fields of policies',
  intro: 'Each policy has a [page of its own](../../policies/README.md), which explains it.',
};

const root = JSON.parse(configurationSchema()) as Schema;

/** A schema without fields of its own that refers to itself: any value of YAML. */
const isAny = (definition: string): boolean => definition.startsWith('__');

function pagesOf(schema: Schema): readonly Page[] {
  const known = new Set(listed.flatMap(({ roots }) => roots));
  const fields = Object.entries(schema.properties ?? {}).filter(([, field]) => !isUnsupported(field));
  const definitions = Object.keys(schema.definitions ?? {}).filter((name) => !isAny(name));
  for (const name of known)
    if (!fields.some(([field]) => field === name) && !definitions.includes(name))
      throw new Error(`scripts/reference/fieldPages.ts lists ${name}, which the schema does not have`);
  const missing = fields.map(([name]) => name).filter((name) => !known.has(name));
  if (missing.length > 0)
    throw new Error(`no page of scripts/reference/fieldPages.ts has ${missing.join(', ')}`);
  return [...listed, { ...policies, roots: definitions.filter((name) => !known.has(name)) }];
}

interface Section {
  readonly path: string;
  readonly schema: Schema;
  readonly page: string;
  /** Paths of equal objects, which link here. */
  readonly also: string[];
}

/** The anchor of a heading, as GitHub makes it. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');

/** All objects of the schema with fields: equal ones once, with the paths of the others. */
class Sections {
  readonly all = new Map<string, Section>();
  readonly #byPath = new Map<string, Section>();

  /** Adds the objects of a field, and those within them. */
  add(schema: Schema, path: string, page: string): void {
    for (const { suffix, schema: part } of partsOf(schema)) {
      const key = JSON.stringify(part.properties);
      const full = `${path}${suffix}`;
      const known = this.all.get(key);
      if (known !== undefined) {
        if (known.path !== full && !known.also.includes(full)) known.also.push(full);
        this.#byPath.set(`${full} ${key}`, known);
        continue;
      }
      const section = { path: this.#free(full), schema: part, page, also: [] };
      this.all.set(key, section);
      this.#byPath.set(`${full} ${key}`, section);
      for (const [name, field] of Object.entries(part.properties ?? {}))
        this.add(field, `${full}.${name}`, page);
    }
  }

  /** The sections of the objects that a field may hold. */
  of(schema: Schema): readonly Section[] {
    return partsOf(schema).flatMap(({ schema: part }) => this.all.get(JSON.stringify(part.properties)) ?? []);
  }

  /** Forms of one field have the same path, and need headings of their own. */
  #free(path: string): string {
    const taken = new Set([...this.all.values()].map((each) => anchorOf(each.path)));
    for (let form = 1; ; form += 1) {
      const name = form === 1 ? path : `${path} (form ${String(form)})`;
      if (!taken.has(anchorOf(name))) return name;
    }
  }
}

const cell = (text: string): string =>
  text
    .replaceAll('|', String.raw`\|`)
    .replaceAll('\n', ' ')
    .replaceAll('<', '&lt;');

const defaultOf = ({ default: value, description }: Schema, required: boolean): string => {
  if (required) return 'required';
  const known = value === undefined ? writtenDefault(description) : JSON.stringify(value).replaceAll('"', '');
  return known === undefined ? '–' : `\`${known}\``;
};

/** A reference of every field of the configuration: path of a page from the root of the repository → its text. */
export async function fieldPages(): Promise<ReadonlyMap<string, string>> {
  const pages = pagesOf(root);
  const sections = new Sections();
  const homeOf = new Map(pages.flatMap(({ file, roots }) => roots.map((name) => [name, file] as const)));
  for (const { file, roots } of pages)
    for (const name of roots)
      sections.add(root.properties?.[name] ?? root.definitions?.[name] ?? {}, name, file);

  const linkTo = (text: string, anchor: string, page: string, from: string): string =>
    `[${text}](${page === from ? '' : `${page}.md`}#${anchorOf(anchor)})`;

  const rowOf = (name: string, field: Schema, required: boolean, from: string): string => {
    const linkOf = (definition: string): string => {
      const page = homeOf.get(definition);
      return page === undefined ? 'any value' : linkTo(definition, definition, page, from);
    };
    const inner = sections.of(field).map((section) => linkTo('fields', section.path, section.page, from));
    const definition = definitionOf(field);
    const text =
      field.description ??
      (definition === undefined ? undefined : root.definitions?.[definition]?.description);
    const type = `${cell(typeOf(field, linkOf))}${inner.length === 0 ? '' : ` (${[...new Set(inner)].join(', ')})`}`;
    return `| \`${name}\` | ${type} | ${cell(defaultOf(field, required))} | ${cell(text ?? '')} |`;
  };

  const sectionText = ({ path, schema, page, also }: Section): string => {
    const fields = Object.entries(schema.properties ?? {});
    const supported = fields.filter(([, field]) => !isUnsupported(field));
    const refused = fields.filter(([, field]) => isUnsupported(field)).map(([name]) => `\`${name}\``);
    const rows = supported.map(([name, field]) =>
      rowOf(name, field, schema.required?.includes(name) === true, page),
    );
    return [
      `## ${path.replaceAll('<', String.raw`\<`)}`,
      ...(schema.description === undefined ? [] : [cell(schema.description)]),
      ...(also.length === 0
        ? []
        : [
            `Also: ${also
              .slice(0, 8)
              .map((each) => `\`${each}\``)
              .join(', ')}${also.length > 8 ? ', and others' : ''}.`,
          ]),
      ...(rows.length === 0
        ? []
        : [['| field | type | default | meaning |', '| - | - | - | - |', ...rows].join('\n')]),
      ...(refused.length === 0 ? [] : [`Known, but not supported: ${refused.join(', ')}.`]),
    ].join('\n\n');
  };

  const texts = pages.map(async ({ file, title, intro, roots }) => {
    const own = [...sections.all.values()].filter(({ page }) => page === file);
    // A root that is no object, or equal to an object of another page, still needs its heading: links lead there.
    const bare = roots
      .filter((name) => !own.some(({ path }) => path === name))
      .map((name) => {
        const schema = root.properties?.[name] ?? root.definitions?.[name] ?? {};
        const row = rowOf(name, schema, false, file);
        return `## ${name}\n\n| field | type | default | meaning |\n| - | - | - | - |\n${row}`;
      });
    const text = `# ${title}\n\n${intro}\n\n\`npm run generate\` makes this page from the schema of the configuration.\n\n${[...bare, ...own.map(sectionText)].join('\n\n')}\n`;
    return [
      `docs/reference/fields/${file}.md`,
      await format(text, { parser: 'markdown', printWidth: 110 }),
    ] as const;
  });

  const index = `# Configuration fields

Every field of the [configuration](../../configuration.md) with its type, default and meaning. Equal objects stand once; other places link to them.

| page | fields |
| - | - |
${pages.map(({ file, title, roots }) => `| [${title}](${file}.md) | ${roots.map((name) => linkTo(name, name, file, '')).join(', ')} |`).join('\n')}

\`npm run generate\` makes these pages from the schema of the configuration. \`portcullis schema\` prints the schema for editors.
`;
  return new Map([
    ['docs/reference/fields/README.md', await format(index, { parser: 'markdown', printWidth: 110 })],
    ...(await Promise.all(texts)),
  ]);
}
