import { z } from 'zod';
import type { InjectedValue, PolicyUse, StdioTarget } from '../../../model/index.ts';
import { choice, fields, mayHoldSecret, namesFile, oneOf, positiveDuration } from '../../../schema/index.ts';
import { buildIsolation, isolationFields } from './isolationFields.ts';
import { fileForm } from '../kind/targetFacts.ts';

const environmentName = z
  .string()
  .refine((name) => /^[^=\0]+$/.test(name), { error: 'is not a name that an environment variable can have' });
const noNul = (what: string, shortest = 0): z.ZodString =>
  z
    .string()
    .min(shortest, { error: `expected ${what}` })
    .refine((text) => !text.includes('\0'), { error: `${what} cannot hold a NUL character` });

/** The help for the scope of a program in McpBackends. */
export const scopeHelp =
  'session: each session has a child of its own; the default. shared: one child serves all requests; this needs statefulMode: stateless.';

const claimName = z
  .string()
  .min(1)
  .max(256)
  .describe("Name of a claim of the caller's token; its value is a text, a number or a boolean.");
const headerName = z
  .string()
  .regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,256}$/, { error: 'expected the name of a header' })
  .transform((name) => name.toLowerCase())
  .describe('Name of a header of the request.');

/** The value of an environment variable: a text, or a value of the caller. */
const ofCaller = { claim: claimName.optional(), header: headerName.optional() };
const plainText = mayHoldSecret(noNul('a value'));

/** The environment variables of a program, with these forms of values. */
const environmentOf = <Value extends z.ZodType>(value: Value) =>
  z
    .record(environmentName, value)
    .optional()
    .describe(
      'Environment variables to add or replace: a text, or a value of the caller. A caller without the value gets no child.',
    );

/** Variables that decide which code a program runs. A caller must not set them. */
const codeVariables =
  /^(?:LD_.*|DYLD_.*|PATH|IFS|ENV|BASH_ENV|SHELLOPTS|NODE_OPTIONS|NODE_PATH|PYTHON(?:PATH|HOME|STARTUP)|PERL5?(?:LIB|OPT)|RUBY(?:LIB|OPT)|JAVA_TOOL_OPTIONS)$/i;

type WrittenValue = string | { readonly claim?: string | undefined; readonly header?: string | undefined };

/** Refuses values of callers where a program is no caller's, or where a caller could bring code. */
function checkValues(
  { env = {}, scope }: { env?: Readonly<Record<string, unknown>> | undefined; scope?: string | undefined },
  context: z.RefinementCtx,
): void {
  for (const [name, value] of Object.entries(env)) {
    if (typeof value === 'string') continue;
    const refuse = (message: string): void =>
      context.addIssue({ code: 'custom', path: ['env', name], message });
    if (scope === 'shared')
      refuse('is a value of the caller, and scope: shared has one child for all callers: use scope: user');
    if (codeVariables.test(name)) refuse('decides which code the program runs: a caller must not set it');
  }
}

const schemaOf = <Value extends z.ZodType>(value: Value) =>
  fields({
    cmd: namesFile(noNul('a command', 1), 'command').describe('Program to start, found along PATH.'),
    args: z
      .array(mayHoldSecret(noNul('an argument')))
      .optional()
      .describe('Its arguments; no shell reads them.'),
    env: environmentOf(value),
    clear_env: z
      .boolean()
      .optional()
      .describe('Start from an empty environment instead of that of the gateway; false by default.'),
    cwd: namesFile(noNul('a path', 1), 'folder')
      .optional()
      .describe('Working directory; that of the gateway by default.'),
    inheritEnv: z
      .array(environmentName)
      .max(256)
      .optional()
      .describe('Variables of the gateway that the program inherits; by default all but secrets.'),
    ...isolationFields,
    startTimeout: positiveDuration
      .optional()
      .describe('Time from the start of the program to its answer to initialize; 60s by default.'),
    scope: choice(['session', 'user', 'shared'])
      .optional()
      .describe(
        'session: each session has a child of its own; the default. user: the sessions of a user share a child. shared: one child serves all requests; this needs statefulMode: stateless.',
      ),
  }).superRefine((settings, context) => {
    checkValues(settings, context);
    if (settings.privateFolder === true && settings.cwd !== undefined)
      context.addIssue({
        code: 'custom',
        path: ['cwd'],
        message: 'contradicts privateFolder: true, which is the working directory of the program',
      });
    if (settings.clear_env === true && settings.inheritEnv !== undefined)
      context.addIssue({
        code: 'custom',
        path: ['inheritEnv'],
        message: 'contradicts clear_env: true, with which the program inherits nothing',
      });
  });

const schema = schemaOf(z.union([plainText, oneOf(fields(ofCaller), Object.keys(ofCaller))]));

/** The same with values that are exchanged for a token of the caller. @param exchange the settings of the exchange */
export const stdioWithExchange = <Exchange extends z.ZodType>(exchange: Exchange) =>
  schemaOf(
    z.union([
      plainText,
      oneOf(fields({ ...ofCaller, exchange: exchange.optional() }), [...Object.keys(ofCaller), 'exchange']),
    ]),
  );

/** The time from the start of a program to its answer to initialize, where the settings do not say. */
export const startTimeoutMs = 60_000;

export const stdioFile = fileForm({
  field: 'stdio',
  description: 'An MCP server that runs as a child process and speaks over stdin and stdout.',
  schema,
  build: (settings, { name, resume, stateless, timeouts, exchanges }): StdioTarget => ({
    kind: 'stdio',
    name,
    cmd: settings.cmd,
    args: settings.args ?? [],
    ...valuesOf(settings.env ?? {}, exchanges),
    clearEnv: settings.clear_env ?? false,
    ...(settings.cwd === undefined ? {} : { cwd: settings.cwd }),
    ...(settings.inheritEnv === undefined ? {} : { inheritEnv: settings.inheritEnv }),
    ...buildIsolation(settings),
    startTimeoutMs: settings.startTimeout ?? startTimeoutMs,
    ...(resume ? {} : { resume }),
    ...(stateless ? { stateless } : {}),
    ...(settings.scope === undefined || settings.scope === 'session' ? {} : { scope: settings.scope }),
    ...timeouts,
  }),
});

function valuesOf(
  written: Readonly<Record<string, WrittenValue>>,
  exchanges: Readonly<Record<string, readonly PolicyUse[]>>,
): Pick<StdioTarget, 'env' | 'injected'> {
  const env: Record<string, string> = {};
  const injected: Record<string, InjectedValue> = {};
  for (const [name, value] of Object.entries(written))
    if (typeof value === 'string') env[name] = value;
    else if (value.claim !== undefined) injected[name] = { kind: 'claim', claim: value.claim };
    else if (value.header !== undefined) injected[name] = { kind: 'header', header: value.header };
  for (const [name, policies] of Object.entries(exchanges)) injected[name] = { kind: 'exchange', policies };
  return { env, ...(Object.keys(injected).length === 0 ? {} : { injected }) };
}

type Settings = z.output<typeof schema>;
type PlainValue = NonNullable<Settings['env']>[string];
type SettingsWithExchange = Omit<Settings, 'env'> & {
  env?: Readonly<Record<string, PlainValue | { readonly exchange?: object | undefined }>> | undefined;
};

/**
 * Takes the credentials that the gateway asks for out of the environment of a program.
 * @returns the target without them, and the place where they stood
 */
export function takeExchanges<Written extends { stdio?: SettingsWithExchange | undefined }>(
  written: Written,
): {
  readonly written: Omit<Written, 'stdio'> & { stdio: Settings | undefined };
  readonly taken: Readonly<Record<string, object>>;
  readonly at: readonly string[];
} {
  const { stdio, ...others } = written;
  const taken: Record<string, object> = {};
  const env: Record<string, PlainValue> = {};
  for (const [name, value] of Object.entries(stdio?.env ?? {}))
    if (typeof value === 'object' && 'exchange' in value && value.exchange !== undefined)
      taken[name] = value.exchange;
    else env[name] = value as PlainValue;
  const settings =
    stdio === undefined ? undefined : { ...stdio, env: stdio.env === undefined ? undefined : env };
  return { written: { ...others, stdio: settings }, taken, at: ['stdio', 'env'] };
}
