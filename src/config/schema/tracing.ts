import { z } from 'zod';
import { constant, endedCondition, endedFields, samplingSetting } from '../../policies/facts.ts';
import { fields } from '../../schema/index.ts';
import { collectorByUrl, withCollector } from './otlp.ts';

export const tracesPath = '/v1/traces';
const add = endedFields('CEL expressions of attributes of the server span, by name.').optional();
const remove = z
  .array(z.string().min(1).max(256))
  .max(128)
  .optional()
  .describe('Attributes of the gateway that spans do not have.');
export const sampling = {
  randomSampling: samplingSetting(
    'Requests without a trace of their client that are traced: a share from 0 to 1, true, false, or an expression; none by default.',
  ).optional(),
  clientSampling: samplingSetting(
    'Requests that their client has sampled and that are traced: a share from 0 to 1, true, false, or an expression; all by default.',
  ).optional(),
};

const { otlpEndpoint, ...collector } = collectorByUrl('the spans', tracesPath);
const resources = z
  .record(
    z.string().min(1).max(256),
    constant('CEL expression of a value that is the same for all requests.'),
  )
  .refine((given) => Object.keys(given).length <= 64, { error: 'expected at most 64 attributes' })
  .optional()
  .describe('Attributes of the gateway itself, such as service.name, by name.');
const filter = endedCondition(
  'CEL condition about the ended request: only spans of requests for which it is true are exported.',
).optional();

/** The fields of `config.tracing` that are the same for the proxies of a cluster. */
export const spanFields = {
  fields: fields({ add, remove }).optional().describe('Changes to the attributes of spans.'),
  resources,
  filter,
};
export const whatTracingIs = 'Traces of requests, and the OpenTelemetry collector that gets them.';

/** `config.tracing`, read at start. Only where `frontendPolicies.tracing` has a collector, the address may be left out. */
export const tracing = fields({
  otlpEndpoint: otlpEndpoint.optional(),
  ...collector,
  ...spanFields,
  ...sampling,
}).describe(whatTracingIs);

/** `frontendPolicies.tracing`, read at start. */
export const frontendTracing = withCollector('the spans', tracesPath, {
  attributes: add,
  remove,
  resources,
  filter,
  ...sampling,
}).describe('Traces of requests; they go before config.tracing.');
