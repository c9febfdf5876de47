import { z } from 'zod';
import { accessFieldNames, defaults, logLevels } from '../../model/index.ts';
import { endedCondition, endedFields } from '../../policies/facts.ts';
import { choice, fields } from '../../schema/index.ts';
import { collectorByUrl, withCollector } from './otlp.ts';

const logLevel = z.union([z.string(), z.array(z.string())]).transform((given, context) => {
  const { general, ofModules } = levelsIn(given);
  const known = [...general, ...ofModules.filter((level) => level !== 'off')].map(levelOf);
  const [level = defaults.fixed.logLevel] = general.map(levelOf);
  if (general.length <= 1 && general.length + ofModules.length > 0 && !known.includes(undefined))
    return level;
  context.addIssue({
    code: 'custom',
    message: `expected ${logLevels.join(', ')} or trace, with levels of modules behind it (info,module=debug)`,
  });
  return z.NEVER;
});

/** Existing files know a finer level than ours; debug is the finest there is. */
const levelOf = (text: string): (typeof logLevels)[number] | undefined =>
  logLevels.find((known) => known === (text === 'trace' ? 'debug' : text));

/** The levels in a value of the field: that of the whole program, and those of single modules (`module=level`). */
function levelsIn(given: string | readonly string[]): {
  readonly general: readonly string[];
  readonly ofModules: readonly string[];
} {
  const parts = (typeof given === 'string' ? [given] : given).flatMap((text) =>
    text.split(',').map((part) => part.trim()),
  );
  return {
    general: parts.filter((part) => !part.includes('=')),
    ofModules: parts.flatMap((part) => /^[^=]+=(.*)$/.exec(part)?.[1] ?? (part.includes('=') ? [''] : [])),
  };
}

/** Does a value of `config.logging.level` name levels of modules, which our log does not have? */
export const namesModules = (given: unknown): boolean =>
  (typeof given === 'string' || (Array.isArray(given) && given.every((each) => typeof each === 'string'))) &&
  levelsIn(given).ofModules.length > 0;

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
export const exported = {
  filter: endedCondition(
    'CEL condition: only requests for which it is true are exported; the filter of the access log by default.',
  ).optional(),
  fields: fields({ add: accessAdd.optional(), remove: accessRemove.optional() })
    .optional()
    .describe('Changes to the fields of exported records; those of the access log by default.'),
};
const records = 'the access log as log records';

export const exportCollector = collectorByUrl(records, usualPath);
export const whatExportIs = 'Exports the access log to an OpenTelemetry collector, too; read at start.';

/** The fields of `config.logging` about the access log. */
export const accessLogFields = {
  accessLog: choice(['json', 'text', 'none'])
    .optional()
    .describe('Form of the access log (one line a request); that of the log where it is left out.'),
  filter: accessFilter.optional(),
  fields: fields({ add: accessAdd.optional(), remove: accessRemove.optional() })
    .optional()
    .describe('Changes to the fields of access log lines.'),
};

/** `config.logging`. */
export const logging = fields(
  {
    level: logLevel
      .optional()
      .describe(
        'The least important messages that are still logged. Levels of modules behind it (info,module=debug) have no effect.',
      ),
    format: choice(['text', 'json']).optional().describe('Form of the log on standard error.'),
    ...accessLogFields,
    otlp: fields({ ...exportCollector, ...exported })
      .optional()
      .describe(whatExportIs),
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
