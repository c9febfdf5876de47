/** The facts about a kind of MCP target that the rest of the program needs without its run-time code. */

import type { CallTimeouts, McpTarget, NetworkTarget, PolicyUse } from '../../../model/index.ts';
import type { HostAndPort } from '../../../schema/index.ts';
import type { z } from 'zod';
import type { AnyClusterForm } from './clusterTarget.ts';
import type { ConnectionSettings } from './connectionSettings.ts';

/** A row of the table. */
export interface TargetFacts<Target extends McpTarget> {
  /** `child`: the gateway starts a child process for each session. `network`: requests go to an address. */
  readonly over: Target extends NetworkTarget ? 'network' : 'child';
  /** Its servers may be of either era (2026-07-28, Versioning); all others begin with `initialize`. */
  readonly eitherEra: boolean;
  /** Another process can continue its sessions. */
  readonly resumable: boolean;
  /**
   * Another process can begin a session with it anew, for a client that goes on: its server keeps no state of the
   * session, or is one of several that hold sessions of their own.
   */
  readonly revivable: (target: Target) => boolean;
  /** The members that tell its server from other servers, whatever the configuration calls the target. */
  readonly identity: (target: Target) => readonly unknown[];
  /** Its description for people; it shows no secret. */
  readonly explain: (target: Target, words: ExplanationWords) => TargetExplanation;
  /** Settings that are valid and probably not meant; absent: there are none. */
  readonly warnings?: (target: Target) => readonly string[];
  /** The names of its tools, where the configuration says them; absent, or undefined: only the server knows them. */
  readonly toolNames?: (target: Target) => readonly string[] | undefined;
  /** The settings that its items come from; absent: its server says them. */
  readonly itemSource?: (target: Target) => unknown;
  /** Files that its settings were read from, besides those that the configuration names. */
  readonly readFiles?: (target: Target) => readonly string[];
  /** Its form in the file. */
  readonly file: Pick<
    FileForm<string, z.ZodType, Target>,
    'field' | 'description' | 'schema' | 'namesBackend'
  >;
  /** Its forms in McpBackends of a cluster; a kind without one is for files only. */
  readonly cluster: readonly AnyClusterForm[];
}

/** The parts of explanations that all kinds share. */
export interface ExplanationWords {
  /** The address of a server, and how many addresses its name stands for. */
  readonly url: (target: NetworkTarget) => string;
  /** A command with its arguments, without their secrets. */
  readonly command: (program: string, args: readonly string[]) => string;
  /** The time that calls may take. */
  readonly calls: readonly string[];
}

export interface TargetExplanation {
  readonly server: string;
  readonly details: readonly string[];
}

/** The settings beside the form of a kind. */
export interface FileSurroundings {
  readonly name: string;
  readonly timeouts: CallTimeouts;
  /** The program of a child that was taken starts again when the session comes back. */
  readonly resume: boolean;
  /** The program keeps nothing of its own. */
  readonly stateless: boolean;
  /** Environment variables whose values are exchanged for a token of the caller, by name. */
  readonly exchanges: Readonly<Record<string, readonly PolicyUse[]>>;
  /** The policies for each request to the server. */
  readonly policies: readonly PolicyUse[];
  /**
   * Connections to a server.
   * @param at undefined where the file names a backend
   * @param backend the name of an entry of the top-level `backends`
   */
  readonly connection: (at: HostAndPort | undefined, backend: string | undefined) => ConnectionSettings;
}

/** The form of a kind in the file: a field of a target with the settings of the kind. */
interface FileForm<Field extends string, Schema extends z.ZodType, Target extends McpTarget> {
  readonly field: Field;
  readonly description: string;
  readonly schema: Schema;
  /** The member of the settings that names an entry of the top-level `backends`. */
  readonly namesBackend?: string;
  readonly build: (settings: z.output<Schema>, around: FileSurroundings) => Target;
}

/** Settings by field; a target of the file has one of the fields. */
type Written<Field extends string, Settings> = { readonly [Name in Field]?: Settings | undefined };

/** Adds to a form its reader: it finds the settings in a target, and answers undefined where they are not there. */
export const fileForm = <const Field extends string, Schema extends z.ZodType, Target extends McpTarget>(
  form: FileForm<Field, Schema, Target>,
) => ({
  ...form,
  read: (target: Written<Field, z.output<Schema>>, around: FileSurroundings): Target | undefined => {
    const settings = target[form.field];
    return settings === undefined ? undefined : form.build(settings, around);
  },
});
