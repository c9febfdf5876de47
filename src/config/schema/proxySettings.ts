import { z } from 'zod';
import { auditEntries, auditFolder } from '../../model/index.ts';
import { choice, crdRules, fields, namesFile, oneOf } from '../../schema/index.ts';
import { accessLogFields, exportCollector, exported, whatExportIs } from './accessLog.ts';
import {
  auditContents,
  checkpointInterval,
  checkpointsApart,
  isSameFile,
  fileSink,
  httpSink,
  redactNeeds,
  requiredNeeds,
  whatAuditIs,
  whatChainIs,
} from './audit.ts';
import { collectorByUrl } from './otlp.ts';
import { sampling, spanFields, tracesPath, whatTracingIs } from './tracing.ts';

/**
 * `audit`, `tracing` and `logging` of `config` as PortcullisParameters have them. The API server cannot read unions, so
 * some fields have another form. Secrets stand in a Secret of the cluster, and files in a volume of the pods.
 */

const name = z.string().min(1).max(253);

/** A field that is refused with a reason: without it, the API server would drop the field in silence. */
const refused = (why: string) =>
  z
    .string()
    .max(4_096)
    .refine(() => false, why)
    .meta(crdRules({ rule: 'false', message: why }))
    .optional()
    .describe(`Refused: ${why}.`);

const secretName = (entries: string) =>
  name.optional().describe(`Secret in the namespace of the Gateway: ${entries}.`);

/** An address, in the form that the API server can check. */
const address = <Schema extends z.ZodType>(schema: Schema): Schema =>
  schema.meta({ pattern: '^https?://[^/?#@\\s]+([/?#].*)?$', maxLength: 1_024 });

const inVolume = (what: string) =>
  namesFile(
    z
      .string()
      .max(253)
      .regex(/^\/var\/log\/portcullis\/[A-Za-z0-9][A-Za-z0-9._-]*$/, {
        error: `expected a file in ${auditFolder}, where the pods have their volume`,
      })
      .describe(what),
    'output',
  );

const oneSink = 'exactly one of stdout, file and http is needed';
const oneVolume = 'exactly one of emptyDir and persistentVolumeClaim is needed';

const sink = oneOf(
  fields({
    stdout: z.strictObject({}).optional().describe('Standard output, beside the access log.'),
    file: fileSink(inVolume('')).optional().describe('A file in the volume, one for each pod.'),
    http: fields({
      ...httpSink,
      url: address(httpSink.url),
      token: refused(`the token is the entry ${auditEntries.token} of the Secret that secretName names`),
    })
      .optional()
      .describe('A collector over HTTP.'),
  }),
  ['stdout', 'file', 'http'],
)
  .meta(
    crdRules({
      rule: '[has(self.stdout), has(self.file), has(self.http)].filter(x, x).size() == 1',
      message: oneSink,
    }),
  )
  .describe('Destination of the lines.');

const chain = fields({
  key: refused(`the key is the entry ${auditEntries.chainKey} of the Secret that secretName names`),
  checkpoints: z
    .strictObject({ file: inVolume('A file of its own in the volume.') })
    .optional()
    .describe('Destination of signed checkpoints; the log of the proxy by default.'),
  checkpointInterval,
});

const volume = oneOf(
  fields({
    emptyDir: z
      .strictObject({
        sizeLimit: z
          .string()
          .regex(/^[0-9]+(\.[0-9]+)?(Ki|Mi|Gi|Ti|k|M|G|T)?$/)
          .optional()
          .describe('Most bytes, as a quantity.'),
      })
      .optional()
      .describe('A folder that ends with its pod.'),
    persistentVolumeClaim: z
      .strictObject({ claimName: name })
      .optional()
      .describe('A claim in the namespace of the Gateway, with a folder for each pod, by its name.'),
  }),
  ['emptyDir', 'persistentVolumeClaim'],
)
  .meta(crdRules({ rule: 'has(self.emptyDir) != has(self.persistentVolumeClaim)', message: oneVolume }))
  .describe(`Volume that the pods mount at ${auditFolder}.`);

const filesNeed = 'a file needs audit.volume';
const chainNeeds = `needs secretName: the key is the entry ${auditEntries.chainKey} of the Secret`;

/** `spec.audit` of PortcullisParameters. */
export const proxyAudit = fields({
  sink,
  ...auditContents,
  redact: auditContents.redact.describe(
    'Paths in the arguments whose values `arguments: redacted` hides, such as $.user.password or ..token.',
  ),
  chain: chain.optional().describe(whatChainIs),
  secretName: secretName(
    `\`${auditEntries.token}\` for the collector, \`${auditEntries.chainKey}\` for the chain, as far as needed`,
  ),
  volume: volume.optional(),
})
  .superRefine((given, context) => {
    const problem = (path: string[], message: string): void =>
      context.addIssue({ code: 'custom', message, path });
    const { sink: to, required, arguments: shown, redact, chain: linked, volume: mounted } = given;
    if (required === true && to.stdout !== undefined) problem(['required'], requiredNeeds);
    if (redact !== undefined && shown !== 'redacted') problem(['redact'], redactNeeds);
    if (mounted === undefined && to.file !== undefined) problem(['sink', 'file'], filesNeed);
    if (mounted === undefined && linked?.checkpoints !== undefined)
      problem(['chain', 'checkpoints'], filesNeed);
    if (isSameFile(to.file?.path, linked?.checkpoints?.file))
      problem(['chain', 'checkpoints', 'file'], checkpointsApart);
    if (linked !== undefined && given.secretName === undefined) problem(['chain'], chainNeeds);
  })
  .meta(
    crdRules(
      {
        rule: '!has(self.required) || !self.required || !has(self.sink.stdout)',
        message: `required: ${requiredNeeds}`,
      },
      {
        rule: "!has(self.redact) || (has(self.arguments) && self.arguments == 'redacted')",
        message: `redact: ${redactNeeds}`,
      },
      {
        rule: 'has(self.volume) || !(has(self.sink.file) || (has(self.chain) && has(self.chain.checkpoints)))',
        message: filesNeed,
      },
      { rule: '!has(self.chain) || has(self.secretName)', message: `chain: ${chainNeeds}` },
    ),
  )
  .describe(whatAuditIs);

const headers = refused('the entries of the Secret that secretName names are the headers');
const headerSecret = secretName('each entry is a header of every export');

/** The texts of a setting that the format also writes as a number, or as true or false. */
const asText = (setting: z.ZodOptional<z.ZodType>) =>
  z
    .string()
    .min(1)
    .max(4_096)
    .superRefine((text, context) => {
      for (const { message } of setting.safeParse(text).error?.issues ?? [])
        context.addIssue({ code: 'custom', message });
    })
    .optional()
    .describe(`${setting.unwrap().description ?? ''} Always a text, such as "0.01".`);

const { otlpEndpoint, ...spanCollector } = collectorByUrl('the spans', tracesPath);

/** `spec.tracing` of PortcullisParameters. */
export const proxyTracing = fields({
  otlpEndpoint: address(otlpEndpoint),
  ...spanCollector,
  headers,
  secretName: headerSecret,
  ...spanFields,
  randomSampling: asText(sampling.randomSampling),
  clientSampling: asText(sampling.clientSampling),
}).describe(whatTracingIs);

/** `spec.logging` of PortcullisParameters. */
export const proxyLogging = fields({
  level: refused('this is the field logLevel of the parameters'),
  format: refused('this is the field logFormat of the parameters'),
  ...accessLogFields,
  accessLog: choice(['json', 'text', 'none'])
    .optional()
    .describe('Form of the access log; that of the log (logFormat) by default.'),
  otlp: fields({
    ...exportCollector,
    otlpEndpoint: address(exportCollector.otlpEndpoint),
    headers,
    secretName: headerSecret,
    ...exported,
  })
    .optional()
    .describe(whatExportIs),
}).describe('The access log.');
