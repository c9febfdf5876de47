import type { CrdRule } from '../policyFacts.ts';

/** Exactly one of the fields stands there. */
export const oneOf = (...names: readonly string[]): CrdRule => ({
  rule: `[${names.map((name) => `has(self.${name})`).join(', ')}].filter(x, x).size() == 1`,
  message: `exactly one of ${names.join(', ')} is needed`,
});

/** At least one of the fields stands there. */
export const someOf = (...names: readonly string[]): CrdRule => ({
  rule: names.map((name) => `has(self.${name})`).join(' || '),
  message: `expected ${names.join(' or ')}`,
});

/** At most one of the fields stands there. */
export const atMostOne = (...names: readonly string[]): CrdRule => ({
  rule: `[${names.map((name) => `has(self.${name})`).join(', ')}].filter(x, x).size() <= 1`,
  message: `${names.join(', ')} exclude each other`,
});

export const notBoth = (a: string, b: string): CrdRule => ({
  rule: `!(has(self.${a}) && has(self.${b}))`,
  message: `${a} and ${b} exclude each other`,
});
