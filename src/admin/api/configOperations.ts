import { messageOf } from '../../errorText.ts';
import { redactText } from '../../telemetry/index.ts';
import type { AdminViews, ConfigText, GatewayViews } from '../contract.ts';
import { redactDump } from '../redactDump.ts';
import { z } from 'zod';
import { operation, type ApiOperation } from './operation.ts';
import { ApiProblem } from './problem.ts';
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
      const { text, etag } = readText(gateway);
      const whyReadOnly = readOnlyFor(caller, gateway);
      return {
        source: views.configState().source,
        writable: whyReadOnly === undefined,
        ...(whyReadOnly !== undefined && { whyReadOnly }),
        text: caller.role === 'operator' ? text : redactText(text),
        etag,
        effective: redactDump(views.model() ?? null, views.masked) as Record<string, unknown> | null,
      };
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

/** @throws ApiProblem */
function readText({ config }: GatewayViews): ConfigText {
  try {
    return config.read();
  } catch (error) {
    throw new ApiProblem(503, messageOf(error));
  }
}
