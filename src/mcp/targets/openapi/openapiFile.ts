import { z } from 'zod';
import { messageOf } from '../../../errorText.ts';
import { readRegularText } from '../../../files/index.ts';
import type { ApiSource, OpenApiTarget, OperationChoice } from '../../../model/index.ts';
import { fields, literalText, mayHoldShownSecret, namesFile, oneOf } from '../../../schema/index.ts';
import { networkTarget } from '../kind/networkFacts.ts';
import { checkServer, serverFields, serverNames, serverOf } from '../kind/remoteServer.ts';
import { fileForm } from '../kind/targetFacts.ts';
import { describeApi } from '../description/describe.ts';
import { operationList } from './operationLists.ts';
import { describeFiles } from './referencedFiles.ts';

/** A description is full of `$ref`, which is no variable. */
const text = literalText(
  z.string().min(1).describe('The description itself, as JSON or YAML text. It holds no variables.'),
);

/** The place of a description, as written. */
const written = z
  .union([
    text,
    z.strictObject({
      url: mayHoldShownSecret(z.string().describe('Fetched in the background and kept fresh.')).optional(),
      file: namesFile(z.string().min(1).describe('Read again when it changes.')).optional(),
      inline: text.optional(),
    }),
  ])
  .describe('The OpenAPI description (3.0 or 3.1) of the API: from a URL, a file, or written here.');

type Written = z.output<typeof written>;

function urlProblem(text: string): string | undefined {
  const parsed = URL.parse(text);
  if (parsed === null || !/^https?:$/.test(parsed.protocol)) return 'expected an http or https URL';
  const hasPassword = parsed.username !== '' || parsed.password !== '';
  return hasPassword ? 'a URL with a password would end up in logs' : undefined;
}

const isUrl = (place: string): boolean => /^[a-z][a-z0-9+.-]*:\/\//i.test(place);

const referencePlaces = z
  .array(namesFile(z.string().min(1), 'folder', (place) => !isUrl(place)))
  .min(1)
  .describe(
    'The places of other documents to which `$ref` may lead: folders for a description in a file, origins such as https://schemas.example.com for one at a URL.',
  );

/** @param url of the description */
function originProblem(place: string, url: string): string | undefined {
  const { protocol, origin } = URL.parse(place) ?? {};
  if (!/^https?:$/.test(protocol ?? '') || (place !== origin && place !== `${origin}/`))
    return 'expected an origin such as https://schemas.example.com, because the description is at a URL';
  const isWeaker = url.startsWith('https:') && protocol === 'http:';
  return isWeaker ? 'a description that is fetched over https does not refer to http' : undefined;
}

/** Adds what is wrong with the description to the problems of the file. */
type Wrong = (message: string, path: readonly (string | number)[]) => void;

/** The description, read where it is at hand; undefined where something is wrong with it. */
function sourceOf(
  given: Written,
  choice: OperationChoice,
  references: readonly string[] | undefined,
  wrong: Wrong,
): ApiSource | undefined {
  const { url, file, inline } = typeof given === 'string' ? { inline: given } : { ...none, ...given };
  const [one, ...others] = [url, file, inline].filter((part) => part !== undefined);
  if (one === undefined || others.length > 0) {
    wrong('expected exactly one of url, file, inline', ['schema']);
    return undefined;
  }
  if (url !== undefined) {
    const problem = urlProblem(url);
    if (problem !== undefined) wrong(problem, ['schema', 'url']);
    for (const [index, place] of (references ?? []).entries()) {
      const why = originProblem(place, url);
      if (why !== undefined) wrong(why, ['references', index]);
    }
    const origins = references?.flatMap((place) => URL.parse(place)?.origin ?? []);
    return { kind: 'url', url, choice, ...(origins && { references: origins }) };
  }
  if (references !== undefined && file === undefined) {
    wrong('a description without a place of its own refers to no other documents: use file or url', [
      'references',
    ]);
    return undefined;
  }
  for (const [index, place] of (references ?? []).entries()) {
    if (!isUrl(place)) continue;
    wrong('expected a folder, because the description is in a file', ['references', index]);
    return undefined;
  }
  try {
    if (file !== undefined && references !== undefined) {
      const { api, warnings, files } = describeFiles(file, references, choice);
      return { kind: 'read', api, warnings, files };
    }
    const { api, warnings } = describeApi(file === undefined ? one : readRegularText(file), choice);
    return { kind: 'read', api, warnings };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const reason = code === 'ENOENT' ? 'there is no such file' : messageOf(error);
    const where = typeof given === 'string' ? ['schema'] : ['schema', file === undefined ? 'inline' : 'file'];
    wrong(file === undefined ? reason : `${file}: ${reason}`, where);
    return undefined;
  }
}

const none: { readonly url?: string; readonly file?: string; readonly inline?: string } = {};

const settings = oneOf(
  fields({
    ...serverFields(undefined, 'The path of the first server of the description'),
    schema: written,
    references: referencePlaces.optional(),
    include: operationList('Only these operations become tools; every operation by default.').optional(),
    exclude: operationList('These operations do not become tools, whatever `include` says.').optional(),
    outputSchemas: z
      .boolean()
      .optional()
      .describe(
        'Tools tell the schema of their answers; true by default. False for an API whose answers differ from its description.',
      ),
  }),
  serverNames,
)
  .superRefine(checkServer)
  .transform(({ schema, references, include, exclude, outputSchemas = true, ...server }, context) => {
    const choice: OperationChoice = {
      ...(include && { include }),
      ...(exclude && { exclude }),
      ...(outputSchemas ? {} : { outputSchemas }),
    };
    const source = sourceOf(schema, choice, references, (message, path) =>
      context.addIssue({ code: 'custom', message, path: [...path] }),
    );
    return source === undefined ? z.NEVER : { ...serverOf(server), source };
  });

export const openapiFile = fileForm({
  field: 'openapi',
  description: 'An HTTP API with an OpenAPI description, whose operations the gateway serves as tools.',
  schema: settings,
  namesBackend: 'backend',
  build: ({ path, source, ...server }, around): OpenApiTarget => ({
    kind: 'openapi',
    ...networkTarget({ ...server, path: path ?? '/' }, around),
    ...(path === undefined ? { usesServerPath: true } : {}),
    source,
  }),
});
