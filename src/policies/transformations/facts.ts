import { z } from 'zod';
import { compile, isProblem, type Members } from '../../cel/index.ts';
import { requestAttributes, sentAnswerAttributes } from '../attributes/declared.ts';
import { addProblem, expression } from '../fields/expression.ts';
import { tokenPattern } from '../fields/httpText.ts';
import { notBuilt } from '../fields/notBuilt.ts';
import { namesAuthority, refusedRequestHeaders, refusedResponseHeaders } from '../headerModifier/facts.ts';
import type { PolicyFacts } from '../policyFacts.ts';

/** Headers of one field of the settings. */
const mostHeaders = 256;

/** Pseudo-headers that the format can set and this version cannot. */
const unbuiltNames: Readonly<Record<string, string>> = {
  ':method': 'another method of a request',
  ':scheme': 'another scheme of a request',
  ':status': 'another status of a response',
};

interface Side {
  /** The values that its expressions may use. */
  readonly attributes: Members;
  readonly refused: ReadonlySet<string>;
  /** Names that `set` alone may have, in lower case. */
  readonly onlySet: ReadonlySet<string>;
}

const requestSide: Side = {
  attributes: requestAttributes,
  refused: refusedRequestHeaders,
  onlySet: new Set([':path', ':authority', 'host']),
};
const responseSide: Side = {
  attributes: sentAnswerAttributes,
  refused: refusedResponseHeaders,
  onlySet: new Set(),
};

/** The reason why a field cannot have the name; undefined where it can. */
function nameFault(written: string, { refused, onlySet }: Side, isSet: boolean): string | undefined {
  const name = written.toLowerCase();
  if (onlySet.has(name)) return isSet ? undefined : `${name} can be set only: a request has exactly one`;
  const unbuilt = unbuiltNames[name];
  if (unbuilt !== undefined) return `known, but not built yet: ${unbuilt}`;
  if (!tokenPattern.test(name)) return 'not a header name (RFC 9110 §5.1)';
  return refused.has(name)
    ? 'this field belongs to the connection or frames the message; it cannot be changed'
    : undefined;
}

function checkName(
  name: string,
  side: Side,
  isSet: boolean,
  ctx: z.RefinementCtx,
  path: (string | number)[],
) {
  const message = nameFault(name, side, isSet);
  if (message === undefined) return;
  const isUnbuilt = unbuiltNames[name.toLowerCase()] !== undefined;
  ctx.addIssue({ code: 'custom', message, path, ...(isUnbuilt ? { params: { notBuilt: true } } : {}) });
}

const headers = (side: Side, isSet: boolean, description: string) =>
  z
    .record(
      z.string().meta({ description: 'Name of a header field.' }),
      expression(side.attributes, 'CEL expression of the value.'),
    )
    .superRefine((given, ctx) => {
      const names = Object.keys(given);
      if (names.length > mostHeaders)
        ctx.addIssue({ code: 'custom', message: `more than ${String(mostHeaders)} headers` });
      for (const name of names) checkName(name, side, isSet, ctx, [name]);
    })
    .default({})
    .meta({ description });

/** A header that is set twice would have the value of the one that comes last in the file. */
function checkTwice(set: Readonly<Record<string, string>>, ctx: z.RefinementCtx): void {
  const seen = new Set<string>();
  for (const name of Object.keys(set)) {
    const same = namesAuthority(name) ? 'host' : name.toLowerCase();
    if (seen.has(same))
      ctx.addIssue({
        code: 'custom',
        message: same === 'host' ? 'the host is set twice' : 'set twice in different case',
        path: ['set', name],
      });
    seen.add(same);
  }
}

/** The target and the host of a request are texts; another value would fail every request. */
function checkTexts(
  set: Readonly<Record<string, string>>,
  { attributes, onlySet }: Side,
  ctx: z.RefinementCtx,
) {
  for (const [name, source] of Object.entries(set)) {
    if (!onlySet.has(name.toLowerCase())) continue;
    const program = compile(source, attributes);
    if (!isProblem(program) && !['string', 'bytes', 'dyn'].includes(program.type))
      addProblem(ctx, ['set', name], `expected a string; this is a ${program.type}`, 0);
  }
}

const changes = (side: Side, description: string) =>
  z
    .strictObject({
      add: headers(side, false, 'Appended: name → CEL expression. Lines of that name stay.'),
      set: headers(
        side,
        true,
        side === requestSide
          ? 'Name → CEL expression, in place of every line of that name. `:path` is path and query for the backend; `:authority` or `host` is its host.'
          : 'Name → CEL expression, in place of every line of that name.',
      ),
      remove: z
        .array(z.string().meta({ description: 'Name of a header field.' }))
        .max(mostHeaders)
        .superRefine((names, ctx) => {
          for (const [index, name] of names.entries()) checkName(name, side, false, ctx, [index]);
        })
        .default([])
        .meta({ description: 'Names whose lines are dropped.' }),
      replace: notBuilt('a whole set of headers; write set, add and remove'),
      body: notBuilt('bodies pass through unread'),
      metadata: notBuilt('values for other policies'),
    })
    .superRefine(({ set }, ctx) => {
      checkTwice(set, ctx);
      checkTexts(set, side, ctx);
    })
    .meta({ description });

export const transformationsSchema = z
  .strictObject({
    request: changes(requestSide, 'Changes to the request that the backend gets.').optional(),
    response: changes(responseSide, 'Changes to the response that the client gets.').optional(),
    conditional: notBuilt('conditional transformations'),
  })
  .meta({
    description:
      'Sets headers of requests and responses to the values of CEL expressions, adds and removes them.',
  });

export type TransformationsSettings = z.output<typeof transformationsSchema>;
export type Changes = NonNullable<TransformationsSettings['request']>;

export const changesNothing = (changed: Changes | undefined): changed is undefined =>
  changed === undefined ||
  (Object.keys(changed.add).length === 0 &&
    Object.keys(changed.set).length === 0 &&
    changed.remove.length === 0);

export const transformationsFacts = {
  schema: transformationsSchema,
  on: ['listener', 'route'],
  notYetOn: ['backend', 'target'],
  reachesTargets: true,
  about: 'request',
  warnings: (settings) => {
    const { request, response } = settings as TransformationsSettings;
    return changesNothing(request) && changesNothing(response) ? ['changes no header'] : [];
  },
  idleForMcp: (settings, overNetwork) => {
    const { request } = settings as TransformationsSettings;
    if (changesNothing(request)) return undefined;
    if (!overNetwork) return 'request';
    return Object.keys(request.set).some((name) => name.toLowerCase() === ':path')
      ? 'request.set[":path"]'
      : undefined;
  },
} as const satisfies PolicyFacts;
