import { apps } from './requirements/apps.ts';
import { operation } from './requirements/operation.ts';
import type { Requirement } from './requirements/requirement.ts';

/** Every behaviour that a standard or a decision of ours demands, with the test that proves it. */
export const requirements: readonly Requirement[] = [...operation, ...apps];
