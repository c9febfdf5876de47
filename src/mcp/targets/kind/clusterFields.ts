import { z } from 'zod';

/** Fields that the forms of several kinds of MCP target have in an McpBackend. */

/** Do entries with names have different ones? */
export const differ = (entries: readonly { readonly name: string }[]): boolean =>
  new Set(entries.map(({ name }) => name)).size === entries.length;

/** The name of an object of the cluster. */
export const objectName = z.string().min(1).max(253);

/** A text for a program; no operating system takes a NUL. */
export const clusterText = (most: number): z.ZodString =>
  z
    .string()
    .max(most)
    .regex(/^[^\x00]*$/);
