/**
 * Macros: the parser expands them, so no table of functions has them. `has` tests for a member; the others run an
 * expression once for each entry of a list or map, with the entry as `x`.
 */
export const macros: readonly {
  readonly name: string;
  /** Types of values that have it as a method; absent for a macro that stands alone. */
  readonly on?: readonly string[];
  readonly signatures: readonly string[];
}[] = [
  { name: 'has', signatures: ['has(value.member) -> bool'] },
  ...[
    { name: 'all', parts: ['x, condition'], result: 'bool' },
    { name: 'exists', parts: ['x, condition'], result: 'bool' },
    { name: 'exists_one', parts: ['x, condition'], result: 'bool' },
    { name: 'filter', parts: ['x, condition'], result: 'list' },
    { name: 'map', parts: ['x, value', 'x, condition, value'], result: 'list' },
  ].map(({ name, parts, result }) => ({
    name,
    on: ['list', 'map'],
    signatures: parts.map((part) => `list.${name}(${part}) -> ${result}`),
  })),
];
