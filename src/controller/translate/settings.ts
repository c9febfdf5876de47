import type { z } from 'zod';
import { schemaOf, type PolicyName } from '../../policies/facts.ts';
import { problem, type Problem } from './conditions.ts';

/** A policy with settings that its schema has checked. */
export interface Settings {
  readonly name: PolicyName;
  readonly settings: unknown;
}

/** Settings in the form that the schema of a policy has made of them, or what it says about them. */
export function checked(name: PolicyName, settings: unknown): Settings | Problem {
  const result = schemaOf(name).safeParse(settings);
  if (result.success) return { name, settings: result.data };
  return problem('UnsupportedValue', `${name}: ${said(result.error.issues)}`);
}

/** The message of a schema about settings; its messages about keys are one level deeper. */
export function said(issues: readonly z.core.$ZodIssue[]): string {
  return issues
    .map((issue) => {
      const { path, message } = issue;
      const inner = issue.code === 'invalid_key' ? issue.issues[0]?.message : undefined;
      return `${path.join('.')}: ${inner ?? message}`;
    })
    .join('; ');
}
