import type { z } from 'zod';
import type { McpTarget, McpTargets, NetworkTarget } from '../../model/index.ts';
import type { ClusterRight, ClusterTarget, Made } from './kind/clusterTarget.ts';
import { callTimeouts, type WrittenTimes } from './kind/targetFields.ts';
import { httpFacts } from './http/facts.ts';
import { sseFacts } from './sse/facts.ts';
import { openapiFacts } from './openapi/facts.ts';
import { stdioFacts } from './stdio/facts.ts';
import { stdioWithExchange } from './stdio/fileForm.ts';
import type {
  ExplanationWords,
  FileSurroundings,
  TargetExplanation,
  TargetFacts,
} from './kind/targetFacts.ts';

type TargetKind = keyof McpTargets;

/**
 * Kind of MCP target → facts. Every list of kinds in the program is derived from this table. The run-time parts are
 * in `index.ts`: reading a configuration does not load them.
 */
const table = {
  stdio: stdioFacts,
  http: httpFacts,
  sse: sseFacts,
  openapi: openapiFacts,
} as const satisfies { readonly [Kind in TargetKind]: TargetFacts<McpTargets[Kind]> };

/** The kinds whose facts say that another process can continue their sessions. */
export type ResumableKind = {
  [Kind in TargetKind]: (typeof table)[Kind]['resumable'] extends true ? Kind : never;
}[TargetKind];

const rows: { readonly [Kind in TargetKind]: TargetFacts<McpTargets[Kind]> } = table;
const allRows = Object.values(table);

type Form = (typeof allRows)[number]['file'];
type FileFields = { readonly [One in Form as One['field']]: z.ZodOptional<One['schema']> };

/** The fields of a target in the file: each kind has one. */
export const fileFields = Object.fromEntries(
  allRows.map(({ file: { field, schema, description } }) => [field, schema.optional().describe(description)]),
) as FileFields;

/** The same fields, where a variable of an environment may hold a credential that the gateway asks for. */
export const fileFieldsWith = <Exchange extends z.ZodType>(exchange: Exchange) => ({
  ...fileFields,
  stdio: stdioWithExchange(exchange)
    .optional()
    .describe(fileFields.stdio.description ?? ''),
});

/** The names of the fields; a target has exactly one of them. */
export const fileFieldNames: readonly string[] = allRows.map(({ file }) => file.field);

/** Pairs of fields, the field of a kind and the field in it that names an entry of the top-level `backends`. */
export const backendReferences: readonly (readonly [field: string, member: string])[] = Object.values(
  rows,
).flatMap(({ file: { field, namesBackend } }) =>
  namesBackend === undefined ? [] : [[field, namesBackend] as const],
);

/** A target of the file, as its schema reads it. */
type WrittenTarget = { readonly [Field in keyof FileFields]?: z.output<FileFields[Field]> };

/** The fields of targets that run as child processes. */
export const childFieldNames = allRows.flatMap(({ over, file }) => (over === 'child' ? [file.field] : []));

/** The same for targets of McpBackends. */
export const childClusterFieldNames = allRows.flatMap(({ over, cluster }) =>
  over === 'child' ? cluster.map(({ field }) => field) : [],
);

/** Is the target written as one that runs as a child process? */
export const isWrittenAsChild = (target: Readonly<Partial<Record<keyof FileFields, unknown>>>): boolean =>
  childFieldNames.some((field) => target[field] !== undefined);

/** The target that is written; undefined where it has none of the fields. */
export function targetOfFile(target: WrittenTarget, around: FileSurroundings): McpTarget | undefined {
  for (const { file } of allRows) {
    const found = file.read(target, around);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Targets of the kinds that are reached over the network. */
export type TargetOverNetwork = Extract<McpTarget, NetworkTarget>;

/** The field of the file that holds the settings of the target. */
export const fileFieldOf = ({ kind }: McpTarget): string => rows[kind].file.field;

/** Is the target reached over the network? All others are child processes of the gateway. */
export const isOverNetwork = (target: McpTarget): target is TargetOverNetwork =>
  rows[target.kind].over === 'network';

/** May the server of the target be of either era? */
export const mayBeEitherEra = ({ kind }: McpTarget): boolean => rows[kind].eitherEra;

/** Can another process continue the sessions of the target? */
export const isResumable = ({ kind }: McpTarget): boolean => rows[kind].resumable;

const revivable = <Kind extends TargetKind>(kind: Kind, target: McpTargets[Kind]): boolean =>
  rows[kind].revivable(target);

/** Can another process begin a session with the target anew, for a client that goes on? */
export const isRevivable = (target: McpTarget): boolean => revivable(target.kind, target);

const identity = <Kind extends TargetKind>(kind: Kind, target: McpTargets[Kind]): readonly unknown[] =>
  rows[kind].identity(target);

/** The members that tell the server of a target from others, whatever the configuration calls the target. */
export const identityOf = (target: McpTarget): readonly unknown[] => identity(target.kind, target);

const explanation = <Kind extends TargetKind>(
  kind: Kind,
  target: McpTargets[Kind],
  words: ExplanationWords,
): TargetExplanation => rows[kind].explain(target, words);

/** The description of a target for people. */
export const explainTarget = (target: McpTarget, words: ExplanationWords): TargetExplanation =>
  explanation(target.kind, target, words);

const warnings = <Kind extends TargetKind>(kind: Kind, target: McpTargets[Kind]): readonly string[] =>
  rows[kind].warnings?.(target) ?? [];

/** Settings of a target that are valid and probably not meant. */
export const warningsOfTarget = (target: McpTarget): readonly string[] => warnings(target.kind, target);

const toolNames = <Kind extends TargetKind>(
  kind: Kind,
  target: McpTargets[Kind],
): readonly string[] | undefined => rows[kind].toolNames?.(target);

/** The names of the tools of a target; undefined where only its server knows them. */
export const toolNamesOf = (target: McpTarget): readonly string[] | undefined =>
  toolNames(target.kind, target);

const itemSource = <Kind extends TargetKind>(kind: Kind, target: McpTargets[Kind]): unknown =>
  rows[kind].itemSource?.(target);

/** The settings of a target that its items come from; undefined where its server says them. */
export const itemSourceOf = (target: McpTarget): unknown => itemSource(target.kind, target);

const readFiles = <Kind extends TargetKind>(kind: Kind, target: McpTargets[Kind]): readonly string[] =>
  rows[kind].readFiles?.(target) ?? [];

/** Files that the settings of a target were read from, besides those that the configuration names. */
export const readFilesOf = (target: McpTarget): readonly string[] => readFiles(target.kind, target);

type InCluster = (typeof allRows)[number]['cluster'][number];
type ClusterFields = { readonly [One in InCluster as One['field']]: z.ZodOptional<One['schema']> };

const formsInCluster = Object.values(rows).flatMap(({ cluster }) => cluster);

/** The fields of a target of an McpBackend: each form of a kind has one. */
export const clusterFields = Object.fromEntries(
  formsInCluster.map(({ field, schema }) => [field, schema.optional()]),
) as ClusterFields;

/** The names of the fields; a target has exactly one of them. */
export const clusterFieldNames: readonly string[] = formsInCluster.map(({ field }) => field);

/** A target of an McpBackend, as its schema reads it. */
type WrittenInCluster = { readonly name: string } & WrittenTimes & {
    readonly [Field in keyof ClusterFields]?: z.output<ClusterFields[Field]>;
  };

/** The target that is written; undefined where it has none of the fields. */
export function clusterTargetOf(target: WrittenInCluster): ClusterTarget | undefined {
  for (const { cluster, over } of allRows)
    for (const form of cluster) {
      const found = form.read(target);
      if (found !== undefined)
        return {
          ...found,
          isProgram: over === 'child',
          build: (tools) =>
            found.build(tools).map(({ name, made }) => ({ name, made: withTimes(made, target) })),
        };
    }
  return undefined;
}

const withTimes = (made: Made<McpTarget>, times: WrittenTimes): Made<McpTarget> =>
  'why' in made ? made : { ...made, ...callTimeouts(times) };

/** The rights that PortcullisParameters give McpBackends. */
export const clusterRights: readonly ClusterRight[] = [
  ...new Set(
    formsInCluster.flatMap(({ right, pod }) => [right, pod?.right].filter((one) => one !== undefined)),
  ),
];

export type {
  BuiltTarget,
  ChosenService,
  ClusterRight,
  ClusterTarget,
  ClusterTools,
  EnvironmentVariable,
  Made,
  Refusal,
  ServiceLabels,
  ServicePort,
} from './kind/clusterTarget.ts';
export { descriptionEntries } from './openapi/openapiInCluster.ts';
export { takeExchanges } from './stdio/fileForm.ts';
export { callFields, callTimeouts, targetName } from './kind/targetFields.ts';
export { differ as haveDifferentNames } from './kind/clusterFields.ts';
export type { ConnectionSettings } from './kind/connectionSettings.ts';
