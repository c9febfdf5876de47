import { resolve } from 'node:path';
import { z } from 'zod';
import {
  choice,
  fields,
  namesFile,
  oneOf,
  parsed,
  positiveDuration,
  positiveSize,
  secret,
} from '../../schema/index.ts';
import { leastAuditKeyBytes } from '../../model/index.ts';
import { parseJsonPath } from './jsonPath.ts';

const anyPath = namesFile(z.string().min(1).max(4_096), 'output');

/** http is for collectors beside the gateway; a secret in the URL would stand in logs. */
function parseUrl(text: string): string | undefined {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol) || url.hostname === '') return undefined;
  if (url.username !== '' || url.password !== '')
    throw new Error('expected no user and password here: write the credential as token');
  return url.href;
}

/** A file sink. @param path the paths that may be written to */
export const fileSink = <Path extends z.ZodType<string>>(path: Path) =>
  fields({
    path: path.describe('File that lines are appended to. The gateway creates it with mode 0600.'),
    rotation: fields({
      maxSize: positiveSize.describe('Size from which the file is renamed and another one begins.'),
      keep: z
        .int()
        .min(1)
        .max(10_000)
        .optional()
        .describe('Renamed files that stay, the newest ones; 10 by default.'),
    })
      .optional()
      .describe('Rotation by the gateway; left out, the file grows, and another program may rename it.'),
  });

const token = z
  .union([
    secret(z.string().min(1).max(4_096).meta({ description: 'The token itself.' }), 'text'),
    z.strictObject({
      file: namesFile(z.string().min(1).meta({ description: 'A file that holds the token.' })),
    }),
  ])
  .describe('Token that the gateway sends as `Authorization: Bearer`: written here, or `{file: …}`.');

/** The fields of a collector over HTTP, but for its token. */
export const httpSink = {
  url: parsed('an http or https address', parseUrl).describe(
    'Address that gets each batch of lines by POST, as application/x-ndjson.',
  ),
  timeout: positiveDuration.optional().describe('Time that the collector may take to answer; 5s by default.'),
};

const sink = z
  .union([
    z.literal('stdout').meta({ description: 'Standard output, beside the access log.' }),
    oneOf(
      fields({
        file: fileSink(anyPath).optional().describe('A file.'),
        http: fields({ ...httpSink, token: token.optional() })
          .optional()
          .describe('A collector over HTTP.'),
      }),
      ['file', 'http'],
    ),
  ])
  .describe('Destination of the lines: stdout, `{file: …}` or `{http: …}`.');

export const checkpointInterval = positiveDuration
  .optional()
  .describe('Longest time from a line to a checkpoint that covers it; 10s by default.');

const chain = fields({
  key: z
    .strictObject({
      file: namesFile(
        z
          .string()
          .min(1)
          .meta({ description: 'A file with at least 32 secret bytes, for the whole life of the stream.' }),
        'file',
        undefined,
        leastAuditKeyBytes,
      ),
    })
    .describe('Secret key of the chain.'),
  checkpoints: z
    .union([
      z.literal('log').meta({ description: 'The log of the gateway.' }),
      z.strictObject({ file: anyPath.describe('A file of its own, best on another machine or disk.') }),
    ])
    .optional()
    .describe('Destination of signed checkpoints: log, the default, or `{file: …}`.'),
  checkpointInterval,
});

const groups = ['calls', 'lists', 'sessions', 'pings', 'refusals', 'admin'] as const;

/** The fields that are the same wherever the lines go. */
export const auditContents = {
  include: z
    .array(choice(groups))
    .min(1)
    .optional()
    .describe('Groups of operations that the stream holds; all but pings by default.'),
  arguments: choice(['none', 'shape', 'redacted', 'full'])
    .optional()
    .describe(
      'Arguments in lines: none, their names and types (shape, the default), values without secrets (redacted), or values (full).',
    ),
  redact: z
    .array(parsed('a path such as $.user.password, items[*].key or ..token', parseJsonPath))
    .max(256)
    .optional()
    .describe('Paths in the arguments whose values `arguments: redacted` hides.'),
  groupsClaim: z
    .string()
    .min(1)
    .max(256)
    .optional()
    .describe('Claim of the token with the groups of the caller; without it lines name no groups.'),
  required: z
    .boolean()
    .optional()
    .describe(
      'Refuse requests whose intent the sink could not store before they are forwarded; false by default.',
    ),
};

export const whatChainIs = 'Chain of keyed hashes that shows altered, missing and reordered lines.';
export const whatAuditIs = 'Audit stream: one line for each MCP operation and each administrative act.';
export const requiredNeeds = 'needs sink.file or sink.http: standard output does not say what it stored';
export const redactNeeds = 'needs arguments: redacted';
export const checkpointsApart = 'needs a file of its own: checkpoints have no place in the chain';
/** Do the two paths name one file? */
export const isSameFile = (one: string | undefined, other: string | undefined): boolean =>
  one !== undefined && other !== undefined && resolve(one) === resolve(other);

/** `config.audit`: the stream that records what callers and operators did. */
export const audit = fields({
  sink,
  ...auditContents,
  chain: chain.optional().describe(whatChainIs),
})
  .superRefine(({ sink: given, required, arguments: shown, redact, chain: linked }, context) => {
    const problem = (path: string[], message: string): void =>
      context.addIssue({ code: 'custom', message, path });
    if (required === true && given === 'stdout') problem(['required'], requiredNeeds);
    if (redact !== undefined && shown !== 'redacted') problem(['redact'], redactNeeds);
    const lines = given === 'stdout' ? undefined : given.file?.path;
    const checkpoints = typeof linked?.checkpoints === 'object' ? linked.checkpoints.file : undefined;
    if (isSameFile(lines, checkpoints)) problem(['chain', 'checkpoints', 'file'], checkpointsApart);
  })
  .describe(whatAuditIs);

export type AuditDocument = z.output<typeof audit>;
