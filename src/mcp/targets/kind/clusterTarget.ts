/** The form of a kind of MCP target in an McpBackend of a cluster. */

import type { z } from 'zod';
import type { McpTarget } from '../../../model/index.ts';
import type { podResources } from '../../../schema/index.ts';
import type { ConnectionSettings } from './connectionSettings.ts';

/** The reason why a target cannot be made, and whether the McpBackend itself or a reference of it is wrong. */
export interface Refusal {
  readonly as: 'refused' | 'unresolved' | 'pending';
  readonly why: { readonly reason: string; readonly message: string };
}

export type Made<Thing> = Thing | Refusal;

/** A right that PortcullisParameters give McpBackends; none by default. */
export interface ClusterRight {
  /** Its field in `spec.mcp` of PortcullisParameters. */
  readonly name: string;
  readonly description: string;
  /** The reason of the condition on an McpBackend that lacks the right. */
  readonly lacking: string;
  /** Only the parameters of a GatewayClass can give it to namespaces other than that of the Gateway. */
  readonly byClass?: true;
}

/** A variable of a program, with its value or the entry of a Secret that holds the value. */
export interface EnvironmentVariable {
  readonly name: string;
  readonly value?: string | undefined;
  readonly valueFrom?: { readonly secretKeyRef: { readonly name: string; readonly key: string } } | undefined;
}

/** The port of a Service. */
export interface ServicePort {
  readonly name: string;
  readonly namespace?: string | undefined;
  readonly port: number;
}

/** The choice of Services by their labels, as the Kubernetes API has it. */
export interface ServiceLabels {
  readonly matchLabels?: Readonly<Record<string, string>> | undefined;
  readonly matchExpressions?:
    | readonly {
        readonly key: string;
        readonly operator: string;
        readonly values?: readonly string[] | undefined;
      }[]
    | undefined;
}

/** A chosen Service, and its ports of TCP. */
export interface ChosenService {
  readonly name: string;
  readonly ports: readonly { readonly name?: string; readonly port: number }[];
}

/** Looks up the objects of the cluster that an McpBackend names. */
export interface ClusterTools {
  /** The values of variables. No value is ever part of a refusal. */
  readonly environment: (
    variables: readonly EnvironmentVariable[] | undefined,
  ) => Made<{ readonly env: Readonly<Record<string, string>> }>;
  /** The Services of the namespace with these labels, in the order of their names. */
  readonly select: (labels: ServiceLabels) => readonly ChosenService[];
  /** The connections to a Service. */
  readonly service: (port: ServicePort) => Made<ConnectionSettings>;
  /** The authorities that ConfigMaps of the namespace hold, as PEM texts. */
  readonly authorities: (
    configMaps: readonly { readonly name: string }[],
  ) => Made<{ readonly texts: readonly string[] }>;
  /** An entry of a ConfigMap of the namespace. */
  readonly entry: (configMap: string, entry: string) => Made<{ readonly text: string }>;
}

/** The wish for a pod with the program of a target. */
export interface PodWish {
  readonly image?: string | undefined;
  readonly resources?: z.output<typeof podResources> | undefined;
}

/** The form: a field of a target with the settings of the kind. */
interface ClusterForm<Field extends string, Schema extends z.ZodType, Target extends McpTarget> {
  readonly field: Field;
  readonly schema: Schema;
  /** The right that it needs; absent: none. */
  readonly right?: ClusterRight;
  /** Tells whether the settings need the right; absent: they always do. */
  readonly needsRight?: (settings: z.output<Schema>) => boolean;
  /** Its program can run in a pod of its own, with another right. */
  readonly pod?: {
    readonly right: ClusterRight;
    /** Undefined where the settings ask for no pod. */
    readonly wish: (settings: z.output<Schema>) => PodWish | undefined;
  };
  readonly build: (name: string, settings: z.output<Schema>, tools: ClusterTools) => Made<Target>;
}

/** The parts of a form that do not depend on the type of its settings. */
export type AnyClusterForm = Pick<ClusterForm<string, z.ZodType, McpTarget>, 'field' | 'schema' | 'right'> & {
  readonly pod?: { readonly right: ClusterRight };
};

/** A target of an McpBackend as it is written, in one of the forms. */
export interface ClusterTarget extends ReadTarget {
  /** It is a program, wherever it runs; others are reached over the network. */
  readonly isProgram: boolean;
}

/** A target as its form reads it. */
export interface ReadTarget {
  readonly field: string;
  readonly name: string;
  /** The right that it needs; undefined: none. */
  readonly right: ClusterRight | undefined;
  /** The wish for a pod with its program; undefined: it has none. */
  readonly pod: PodWish | undefined;
  /** It stands for any number of targets, none among them. */
  readonly several: boolean;
  /** Makes the target, or the targets it stands for; of one with a pod the target that the pod serves. */
  readonly build: (tools: ClusterTools) => readonly BuiltTarget[];
}

/** A target, or the reason why it cannot be made. */
export interface BuiltTarget<Target extends McpTarget = McpTarget> {
  readonly name: string;
  readonly made: Made<Target>;
}

/** A form that stands for any number of targets, each with a name of its own. */
interface SelectingForm<
  Field extends string,
  Schema extends z.ZodType,
  Target extends McpTarget,
> extends Pick<ClusterForm<Field, Schema, Target>, 'field' | 'schema'> {
  readonly select: (settings: z.output<Schema>, tools: ClusterTools) => readonly BuiltTarget<Target>[];
}

type Written<Field extends string, Settings> = { readonly name: string } & {
  readonly [Name in Field]?: Settings | undefined;
};

/** Adds to a form its reader: it finds the settings in a target, and answers undefined where they are not there. */
export const clusterForm = <const Field extends string, Schema extends z.ZodType, Target extends McpTarget>(
  form: ClusterForm<Field, Schema, Target>,
) => ({
  ...form,
  read: (target: Written<Field, z.output<Schema>>): ReadTarget | undefined => {
    const settings = target[form.field];
    if (settings === undefined) return undefined;
    const { name } = target;
    const pod = form.pod?.wish(settings);
    const own = form.needsRight?.(settings) === false ? undefined : form.right;
    return {
      field: form.field,
      name,
      right: pod === undefined ? own : form.pod?.right,
      pod,
      several: false,
      build: (tools) => [{ name, made: form.build(name, settings, tools) }],
    };
  },
});

/** The same for a form that stands for any number of targets. */
export const selectingForm = <const Field extends string, Schema extends z.ZodType, Target extends McpTarget>(
  form: SelectingForm<Field, Schema, Target>,
) => ({
  ...form,
  read: (target: Written<Field, z.output<Schema>>): ReadTarget | undefined => {
    const settings = target[form.field];
    if (settings === undefined) return undefined;
    return {
      field: form.field,
      name: target.name,
      right: undefined,
      pod: undefined,
      several: true,
      build: (tools) => form.select(settings, tools),
    };
  },
});
