import { z } from 'zod';
import { messageOf } from '../../errorText.ts';
import { hideSecretForms, redactText } from '../../telemetry/index.ts';
import type { AdminViews, ConfigProblem, ConfigText, EffectiveField, GatewayViews } from '../contract.ts';
import { redactDump } from '../redactDump.ts';
import { operation, type ApiOperation } from './operation.ts';
import { ApiProblem, type ProblemPlace } from './problem.ts';
import { readOnlyFor } from './sessionOperations.ts';
import * as shapes from './shapes.ts';

/** The operations about the configuration. */
export const configOperations = (views: AdminViews, gateway: GatewayViews): readonly ApiOperation[] => [
  operation({
    method: 'GET',
    path: '/api/v1/config',
    about: 'the configuration as written, and the model in use without secrets',
    access: 'viewer',
    result: shapes.config,
    refusals: { 503: 'the configuration cannot be read' },
    answerHeaders: ({ etag }) => ({ etag }),
    run: ({ caller }) => {
      const document = readText(gateway);
      const { text, etag } = document;
      const whyReadOnly = readOnlyFor(caller, gateway);
      const isOperator = caller.role === 'operator';
      return {
        source: views.configState().source,
        writable: whyReadOnly === undefined,
        ...(whyReadOnly !== undefined && { whyReadOnly }),
        text: isOperator ? text : redactText(gateway.config.masked(document) ?? notShown),
        etag,
        tree: shownTree(gateway.config.tree(!isOperator)),
        effective: redactDump(views.model() ?? null, views.masked) as Record<string, unknown> | null,
      };
    },
  }),
  operation({
    method: 'PUT',
    path: '/api/v1/config',
    about: 'replaces the text of the configuration file; If-Match has the ETag of the text that was read',
    access: 'operator',
    headers: { 'If-Match': 'The entity tag of the text that the caller has read.' },
    body: shapes.newText,
    maxBody: mostText,
    result: shapes.newTag,
    refusals: {
      412: 'the configuration has changed since it was read',
      422: 'the text has problems',
      428: 'If-Match is missing',
      500: 'the file cannot be written',
    },
    answerHeaders: ({ etag }) => ({ etag }),
    run: async ({ caller, headers: { 'if-match': tag }, body: { text } }) => {
      const whyReadOnly = readOnlyFor(caller, gateway);
      if (whyReadOnly !== undefined) throw new ApiProblem(403, `read-only: ${whyReadOnly}`);
      if (tag === undefined)
        throw new ApiProblem(428, 'If-Match must have the ETag of the text that was read');
      if (readText(gateway).etag !== tag) throw changedMeanwhile();
      const { problems } = await gateway.config.check(text);
      const [first] = problems;
      if (first !== undefined)
        throw new ApiProblem(422, `${first.path === '' ? '' : `${first.path}: `}${first.message}`, {
          place: placeOf(first),
          problems,
        });
      let etag: string | undefined;
      try {
        etag = gateway.config.write(text, tag);
      } catch (error) {
        throw new ApiProblem(500, messageOf(error));
      }
      if (etag === undefined) throw changedMeanwhile();
      return { etag };
    },
  }),
  operation({
    method: 'POST',
    path: '/api/v1/config/check',
    about: 'checks a text as if it were the configuration, and tells what it would change',
    access: 'operator',
    readsOnly: true,
    body: shapes.newText,
    maxBody: mostText,
    result: shapes.configCheck,
    run: async ({ body: { text } }) => {
      const { problems, warnings, changes } = await gateway.config.check(text);
      return { ok: problems.length === 0, problems, warnings, changes: changes ?? null };
    },
  }),
  operation({
    method: 'GET',
    path: '/api/v1/schema',
    about: 'the JSON Schema of the configuration',
    access: 'viewer',
    result: z.looseObject({}),
    run: () => JSON.parse(gateway.config.schema()) as Record<string, unknown>,
  }),
];

/** Secrets that the process knows by their values or by their form are masked, too. */
const shownTree = (fields: readonly EffectiveField[] | undefined): EffectiveField[] | null =>
  fields?.map(({ value, fields: below, ...field }) => ({
    ...field,
    ...(value !== undefined && { value: typeof value === 'string' ? hideSecretForms(value) : value }),
    ...(below !== undefined && { fields: shownTree(below) ?? [] }),
  })) ?? null;

/** In place of a text whose secrets cannot be found. */
const notShown = '# This text is no YAML, so that the gateway cannot hide its secrets from a viewer.\n';

/** Bytes of a configuration in JSON. */
const mostText = 33_554_432;

const changedMeanwhile = (): ApiProblem =>
  new ApiProblem(412, 'the configuration has changed since it was read: read it again');

const placeOf = ({ line, column, path }: ConfigProblem): ProblemPlace | undefined =>
  line === undefined || column === undefined ? undefined : { line, column, path };

/** @throws ApiProblem */
function readText({ config }: GatewayViews): ConfigText {
  try {
    return config.read();
  } catch (error) {
    throw new ApiProblem(503, messageOf(error));
  }
}
