import { z } from 'zod';
import { accessFieldNames, logLevels } from '../../model/index.ts';
import { endedCondition, endedFields } from '../../policies/facts.ts';
import { choice, fields } from '../../schema/index.ts';
import { collectorByUrl, withCollector } from './otlp.ts';

const logLevel = z.union([z.string(), z.array(z.string())]).transform((given, context) => {
  // Existing files know a finer level than ours; debug is the finest there is.
  const level = given === 'trace' ? 'debug' : given;
  const found = logLevels.find((known) => known === level);
  if (found !== undefined) return found;
  const perModule = Array.isArray(given) || /[=,]/.test(given);
  context.addIssue({
    code: 'custom',
    message: perModule
      ? 'levels for single modules are known, but not built yet in this version'
      : `expected ${logLevels.join(', ')} or trace`,
  });
  return z.NEVER;
});

const accessFilter = endedCondition(
  'CEL condition: only requests for which it is true have a line in the access log.',
);
const accessAdd = endedFields('CEL expressions of fields to add to lines of the access log, by name.');
const { kept, line, noted } = accessFieldNames;
const removable: ReadonlySet<string> = new Set([...line, ...noted]);
const accessRemove = z
  .array(
    z.string().superRefine((name, context) => {
      if (removable.has(name)) return;
      const message = kept.some((each) => each === name)
        ? 'every line has this field'
        : `is no field of the access log; expected one of ${[...removable].join(', ')}`;
      context.addIssue({ code: 'custom', message });
    }),
  )
  .describe('Fields to leave out of lines of the access log.');

const usualPath = '/v1/logs';
const exported = {
  filter: endedCondition(
    'CEL condition: only requests for which it is true are exported; the filter of the access log by default.',
  ).optional(),
  fields: fields({ add: accessAdd.optional(), remove: accessRemove.optional() })
    .optional()
    .describe('Changes to the fields of exported records; those of the access log by default.'),
};
const records = 'the access log as log records';

/** `config.logging`. */
export const logging = fields(
  {
    level: logLevel.optional().describe('The least important messages that are still logged.'),
    format: choice(['text', 'json']).optional().describe('Form of the log on standard error.'),
    accessLog: choice(['json', 'text', 'none'])
      .optional()
      .describe('Form of the access log (one line a request); that of the log where it is left out.'),
    filter: accessFilter.optional(),
    fields: fields({ add: accessAdd.optional(), remove: accessRemove.optional() })
      .optional()
      .describe('Changes to the fields of access log lines.'),
    otlp: fields({ ...collectorByUrl(records, usualPath), ...exported })
      .optional()
      .describe('Exports the access log to an OpenTelemetry collector, too; read at start.'),
  },
  ['database'],
);

/** `frontendPolicies.accessLog`. */
export const loggingPolicy = fields(
  {
    filter: accessFilter.optional(),
    add: accessAdd.optional(),
    remove: accessRemove.optional(),
    otlp: withCollector(records, usualPath, exported)
      .optional()
      .describe(
        'Exports the access log to an OpenTelemetry collector, too; it goes before config.logging.otlp, and is read at start.',
      ),
  },
  ['database'],
);
