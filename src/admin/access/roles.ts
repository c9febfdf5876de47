/** `operator` may change something, `viewer` may not. */
export type Role = 'viewer' | 'operator';
export const roles = ['viewer', 'operator'] as const satisfies readonly Role[];
